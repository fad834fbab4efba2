package wheatfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Options say what a file system is to be like.
type Options struct {
	// RAM is how many bytes may lie in memory.
	RAM int64
	// Disk is a directory on the disk that takes the rest; nothing is to be seen in it.
	Disk string
	// Size is how many bytes there are room for, 0 for RAM and what is free on the disk.
	Size int64
	// Programs says that programs may be executed from it, and links followed.
	Programs bool
	// UID, GID and Mode are those of its top directory.
	UID, GID int
	Mode     os.FileMode
	// Argv starts the daemon: a program that calls Serve with its standard input and output, as DaemonArgv has it.
	Argv []string
}

// DaemonArgv starts the daemon by a program that is ramaria.
func DaemonArgv(ramaria string) []string { return []string{ramaria, "wheatfs", "serve"} }

const (
	// LeastSize is the smallest file system that is worth its structures, and mostSize the largest that the daemon
	// keeps books of, in bytes.
	LeastSize, mostSize = 64 << 20, 16 << 40
	// leastPerInode is how many bytes there are for each file, at least, and mostInodes how many files there can be:
	// the structures of more would take of the RAM.
	leastPerInode, mostInodes = 16 << 10, 16 << 20
)

// FS is a file system that is RAM first, and its keeper: see DESIGN.md.
type FS struct {
	opts   Options
	device string // "loop3"
	number uint64 // of the device
	daemon *exec.Cmd
	orders *os.File // the daemon takes its end for that of its keeper

	mu     sync.Mutex
	mount  *sys.Mount // nil once it is let go
	place  string     // where it is attached, "" if nowhere
	report Report

	stop func()
	gone chan struct{} // closed when the daemon has ended
	err  error         // why, valid then
}

// Start makes a file system, which has no place yet: Attach gives it one, or a server that it is mounted for alone.
// It is gone with its last user, at the latest when Close is called.
func Start(ctx context.Context, o Options) (*FS, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	if o.RAM < 0 {
		return nil, fmt.Errorf("%d bytes of RAM: it cannot be less than 0", o.RAM)
	}
	if o.Size == 0 {
		on, err := sys.Statfs(o.Disk)
		if err != nil {
			return nil, err
		}
		if on.RAM {
			return nil, fmt.Errorf("%s lies in RAM: it is to take what RAM does not\nhint: --disk of a directory on a disk", o.Disk)
		}
		if on.Avail == math.MaxInt64 { // as of /proc
			return nil, fmt.Errorf("%s tells no size: it is no disk\nhint: --disk of a directory on a disk", o.Disk)
		}
		o.Size = min(o.RAM+promised(on.Avail), mostSize)
	}
	if o.Size > mostSize {
		return nil, fmt.Errorf("a wheatfs of %d TB is too large: the most is %d TB\nhint: --size %[2]dT", o.Size>>40, mostSize>>40)
	}
	o.Size = o.Size / ChunkSize * ChunkSize
	if o.Size < LeastSize {
		return nil, fmt.Errorf("%s has too little room: with RAM it makes %d MB, and the least is %d MB\nhint: --ram %[3]dM, or --disk of a directory on a disk with more room", o.Disk, o.Size>>20, LeastSize>>20)
	}
	f := &FS{opts: o, gone: make(chan struct{})}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *FS) start(ctx context.Context) (err error) {
	requests, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer requests.Close() // the daemon's is another
	served, err := sys.NewMount("fuse", "source=ramaria-wheatfs", fmt.Sprintf("fd=%d", requests.Fd()), "rootmode=40000", "user_id=0", "group_id=0", fmt.Sprintf("max_read=%d", requestSize))
	if err != nil {
		return err
	}
	defer served.Close() //nolint:errcheck // only a descriptor: the loop device holds the file
	ready, err := f.startDaemon(requests)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.kill()
			err = errors.Join(err, f.err)
		}
	}()
	_ = requests.Close() // the daemon holds the only one from here on
	select {
	case <-ready:
	case <-f.gone:
		return errors.New("the daemon of wheatfs has not started")
	case <-time.After(startPatience):
		return fmt.Errorf("the daemon of wheatfs has not started within %v", startPatience)
	case <-ctx.Done():
		return ctx.Err()
	}
	file, err := os.OpenFile(filepath.Join(served.Path(), deviceName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	loop, err := sys.LoopDevice(file, BlockSize)
	_ = file.Close() // the loop device has it
	if err != nil {
		return err
	}
	defer loop.Close() // from here on the mount holds it
	f.device = filepath.Base(loop.Name())
	if err := f.makeExt4(ctx, loop); err != nil {
		return err
	}
	mount, err := f.newMount(loop.Name())
	if err != nil {
		return err
	}
	number, err := sys.DeviceNumber(mount.Path())
	if err == nil {
		err = f.own(mount.Path())
	}
	if err != nil {
		return errors.Join(err, mount.Close())
	}
	fs, err := sys.StatfsOn(mount.Path(), number)
	if err == nil {
		// What the file system does not count as room is at the head: packed_meta_blocks.
		err = f.order(order{Structures: f.opts.Size - fs.Size})
	}
	if err != nil {
		return errors.Join(err, mount.Close())
	}
	f.mu.Lock()
	f.mount, f.number = mount, number
	f.mu.Unlock()
	watching, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.lookAtRoom()
	go f.watchRoom(watching)
	return nil
}

// makeExt4 makes the file system: without a journal, since nothing is to outlive the machine; its structures at the
// head, where they share chunks; and inode tables are not filled with zeros, which they have.
func (f *FS) makeExt4(ctx context.Context, on *os.File) error {
	program, err := mkfs()
	if err != nil {
		return err
	}
	argv := []string{
		program, "-q", "-F", "-b", fmt.Sprint(BlockSize), "-m", "0", "-i", fmt.Sprint(max(leastPerInode, f.opts.Size/mostInodes)),
		"-O", "^has_journal,^resize_inode,^metadata_csum,uninit_bg", "-E", "lazy_itable_init=1,nodiscard,packed_meta_blocks=1",
	}
	if err := sys.MakeFS(ctx, argv, on); err != nil {
		return fmt.Errorf("mkfs.ext4: %w", err)
	}
	return nil
}

func (f *FS) newMount(device string) (*sys.Mount, error) {
	mount := sys.NewMount
	if f.opts.Programs {
		mount = sys.NewOpenMount
	}
	return mount("ext4", "source="+device, "discard", "noinit_itable", "noauto_da_alloc", "nobarrier", "errors=remount-ro")
}

// own gives the top directory to its owner.
func (f *FS) own(top string) error {
	if err := os.Remove(filepath.Join(top, "lost+found")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir, err := os.Open(top)
	if err != nil {
		return err
	}
	defer dir.Close()
	return errors.Join(dir.Chown(f.opts.UID, f.opts.GID), dir.Chmod(f.opts.Mode))
}

// Mount is the file system itself, until Attach or Close.
func (f *FS) Mount() *sys.Mount {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mount
}

// Attach mounts it on a directory. From then on who unmounts that has ended it.
func (f *FS) Attach(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mount.Attach(dir); err != nil {
		return err
	}
	f.place = dir
	_ = f.mount.Close() // only a descriptor
	f.mount = nil
	// The daemon unmounts it when its keeper is killed.
	return f.order(order{Place: dir, Device: f.device})
}

// SetRAM changes how many bytes may lie in memory. What is over that is moved to the disk beside.
func (f *FS) SetRAM(n int64) error { return f.order(order{RAM: &n}) }

func (f *FS) order(o order) error {
	if err := json.NewEncoder(f.orders).Encode(o); err != nil {
		return fmt.Errorf("tell the daemon of wheatfs: %w", err)
	}
	return nil
}

// path is where this process sees it, "" if it does not.
func (f *FS) path() string {
	if f.place != "" {
		return f.place
	}
	if f.mount != nil {
		return f.mount.Path()
	}
	return ""
}

// Daemon is the process that serves it, whose memory is what lies in RAM, and some buffers.
func (f *FS) Daemon() int { return f.daemon.Process.Pid }

// Report is what the daemon has told last.
func (f *FS) Report() Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.report
}

// Gone is closed when the daemon has ended: there is no such file system any more, or it fails.
func (f *FS) Gone() <-chan struct{} { return f.gone }

// Err is why the daemon has ended, once it has; nil if it was to.
func (f *FS) Err() error {
	<-f.gone
	return f.err
}

// Close lets the file system go: Gone says when it is. One that has a place is unmounted: unix.EBUSY if it is in use,
// unless force takes it away from its users.
func (f *FS) Close(force bool) error {
	f.mu.Lock()
	place := f.place
	f.mu.Unlock()
	_ = f.daemon.Process.Signal(syscall.SIGCONT) // a daemon that was stopped keeps the kernel waiting, and who unmounts
	if place != "" {                             // which writes back what is dirty, and may take long: others ask meanwhile
		if err := takeAway(place, f.device, force); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place = ""
	if f.mount != nil {
		_ = f.mount.Close() // only a descriptor
		f.mount = nil
	}
	f.stop()
	return nil
}
