package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// SyncMount is a file system in a file that writes everything at once, as if every write
// were followed by fsync: what mount(8) calls -o sync.
//
// The kernel ends the loop device with the mount. If this process is killed the mount stays
// until the next lab is made.
type SyncMount struct{ dir, image string }

// MountSync makes one and mounts it at dir. ErrUnavailable says that this machine or user
// cannot.
func (l *Lab) MountSync(ctx context.Context, dir string, size int64) (_ *SyncMount, err error) {
	const kind = "xfs" // whose mkfs ramaria finds anywhere
	unfit := errors.Join(sys.CheckLoop(), sys.CheckMount(kind))
	if sys.InUserNamespace() {
		unfit = errors.Join(unfit, errors.New("this is a user namespace, in which no device is mounted"))
	}
	if unfit != nil {
		return nil, fmt.Errorf("%w: mount with -o sync: %w", runner.ErrUnavailable, unfit)
	}
	m := &SyncMount{dir: dir, image: dir + ".image"}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("mount with -o sync: %w", err), m.Remove())
		}
	}()
	if err := os.Mkdir(m.dir, 0o711); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(m.image, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the loop device has it too
	if err := file.Truncate(size); err != nil {
		return nil, err
	}
	if err := l.mkfs(ctx, file.Name()); err != nil {
		return nil, err
	}
	loop, err := sys.LoopDevice(file, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	defer loop.Close() // the mount has it too
	mount, err := sys.NewMount(kind, "source="+loop.Name(), "sync")
	if err != nil {
		return nil, err
	}
	return m, errors.Join(mount.Attach(m.dir), mount.Close())
}

// mkfs makes an XFS in a file.
func (l *Lab) mkfs(ctx context.Context, file string) error {
	argv := []string{"mkfs.xfs"}
	if l.MkfsXFS != nil {
		var err error
		if argv, err = l.MkfsXFS(ctx); err != nil {
			return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
		}
	}
	argv = append(argv[:len(argv):len(argv)], "-q", file)
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("make a file system: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Remove takes it away. Nothing there is no error; it may be called more than once.
func (m *SyncMount) Remove() error {
	if err := m.unmount(); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(m.dir), os.RemoveAll(m.image))
}

func (m *SyncMount) unmount() error {
	err := sys.Unmount(m.dir, false)
	if err != nil { // a process looks at it: it goes with the last one
		err = sys.Unmount(m.dir, true)
	}
	return err
}
