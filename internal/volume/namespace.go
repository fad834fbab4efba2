package volume

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// A volume is mounted in the mount namespace of its maker, and need not be seen from
// another: a container, a service with PrivateTmp. To remove its mount point there would
// take it away from all of them (rmdir of a mount point detaches what other namespaces have
// mounted on it). So the lock file beside the mount point names the namespaces in which the
// volume was mounted, one a line; the caller of what follows holds the lock.

// noteNamespace notes that the volume has been mounted in this namespace.
func (m *Mount) noteNamespace() error {
	here, err := sys.MountNamespace()
	if err != nil {
		return err
	}
	return os.WriteFile(m.dir+lockSuffix, []byte(strings.Join(append(m.namespaces(here), here), "\n")), 0o600)
}

// mountedInOthers reports whether other namespaces may have the volume mounted, after it was
// found that this one does not.
func (m *Mount) mountedInOthers() (bool, error) {
	here, err := sys.MountNamespace()
	if err != nil {
		return false, err
	}
	others := m.namespaces(here)
	if len(others) == 0 {
		return false, nil
	}
	return true, os.WriteFile(m.dir+lockSuffix, []byte(strings.Join(others, "\n")), 0o600)
}

// namespaces are those that the lock file names, without this one and those where the volume
// is mounted no more.
func (m *Mount) namespaces(here string) []string {
	b, err := os.ReadFile(m.dir + lockSuffix)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return []string{"mnt:[unknown]"} // better kept than lost
	}
	return slices.DeleteFunc(strings.Fields(string(b)), func(name string) bool {
		return !strings.HasPrefix(name, "mnt:[") || name == here || !sys.MayBeMountedIn(name, m.dir)
	})
}
