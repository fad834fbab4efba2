package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// elsewhere reports whether the home of a volume, which is not seen from here, is there for the servers that run in it:
// their supervisor has another root, as in a chroot or with mounts of its own, and the home is below that. Of one that
// cannot be told from here, as in a container with processes of its own, it is taken to be.
func elsewhere(f volume.Found, holders []volume.Holder) bool {
	if f.Ours || f.Lives {
		return false
	}
	return slices.ContainsFunc(holders, func(h volume.Holder) bool {
		if h.Instance == "" {
			return false
		}
		pid, err := holderPID(h)
		if err != nil || !sys.HasOpen(pid, h.Path) {
			held, err := sys.Held(h.Path) // not if it has just ended
			return err == nil && held
		}
		there := f.Owner
		there.State = filepath.Join("/proc", strconv.Itoa(pid), "root", there.State)
		return there.Lives(host.Host{})
	})
}

// holderPID is the number that a supervisor wrote into its lock: its own in its container.
func holderPID(h volume.Holder) (int, error) {
	b, err := os.ReadFile(h.Path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
