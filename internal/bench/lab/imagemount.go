package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ImageMount is a file system in a file on the disk, by a loop device that reads and writes past the page
// cache.
//
// The kernel ends the loop device with the mount. If this process is killed the mount stays
// until the next lab is made.
type ImageMount struct {
	// Dir is where it is mounted.
	Dir string
	// Throttle holds its device back, nil if it has all of the disk. Who writes there joins it.
	Throttle *runner.Throttle

	image string
	host  host.Host
}

// heldBack ends the name of the file that has the number of the device of a mount that is held back.
const heldBack = ".held-back"

// MountSync makes one that writes everything at once, as if every write were followed by fsync: what
// mount(8) calls -o sync. ErrUnavailable says that this machine or user cannot.
func (l *Lab) MountSync(ctx context.Context, dir string, size int64) (*ImageMount, error) {
	m, err := l.mountImage(ctx, dir, size, "sync")
	if err != nil {
		return nil, fmt.Errorf("mount with -o sync: %w", err)
	}
	return m, nil
}

// MountSlow makes one whose device is held to rate bytes a second each way, the page cache before it as
// on any disk. ErrUnavailable says that this machine or user cannot.
func (l *Lab) MountSlow(ctx context.Context, dir string, size, rate int64) (*ImageMount, error) {
	m, err := l.mountImage(ctx, dir, size)
	if err != nil {
		return nil, fmt.Errorf("mount a slow disk: %w", err)
	}
	// Before it is held back: a limit that was not noted outlives this process.
	err = os.WriteFile(dir+heldBack, []byte(runner.DeviceOf(l.Host, dir).Number()), 0o600)
	if err == nil {
		m.Throttle, err = runner.NewBandwidth(l.Host, dir, rate)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mount a slow disk: %w", err), m.Remove())
	}
	return m, nil
}

func (l *Lab) mountImage(ctx context.Context, dir string, size int64, options ...string) (_ *ImageMount, err error) {
	const kind = "xfs" // whose mkfs ramaria finds anywhere
	unfit := errors.Join(sys.CheckLoop(), sys.CheckMount(kind))
	if sys.InUserNamespace() {
		unfit = errors.Join(unfit, errors.New("this is a user namespace, in which no device is mounted"))
	}
	if unfit != nil {
		return nil, fmt.Errorf("%w: %w", runner.ErrUnavailable, unfit)
	}
	m := &ImageMount{Dir: dir, image: dir + ".image", host: l.Host}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Remove())
		}
	}()
	if err := os.Mkdir(m.Dir, 0o711); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(m.image, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the loop device has it too
	if err := file.Truncate(max(size, leastXFS)); err != nil {
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
	mount, err := sys.NewMount(kind, append([]string{"source=" + loop.Name()}, options...)...)
	if err != nil {
		return nil, err
	}
	return m, errors.Join(mount.Attach(m.Dir), mount.Close())
}

// leastXFS is the smallest file system that mkfs.xfs makes, in bytes.
const leastXFS = 300 << 20

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
func (m *ImageMount) Remove() error {
	if err := errors.Join(m.Throttle.Remove(), m.unmount()); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(m.Dir), os.RemoveAll(m.image), os.RemoveAll(m.Dir+heldBack))
}

// lift ends that its device is held back by a process that was killed.
func (m *ImageMount) lift() error {
	number, err := os.ReadFile(m.Dir + heldBack)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(number) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return runner.LiftBandwidth(m.host, string(number))
}

func (m *ImageMount) unmount() error { return unmount(m.Dir) }

// unmount takes away what is mounted at a directory, if anything is.
func unmount(dir string) error {
	err := sys.Unmount(dir, false)
	if err != nil { // a process looks at it: it goes with the last one
		err = sys.Unmount(dir, true)
	}
	return err
}
