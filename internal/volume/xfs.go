package volume

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// leastXFS is the smallest XFS that mkfs.xfs makes, in bytes.
	leastXFS = 300 << 20
	// xfsLog is the size of its log, the smallest that mkfs.xfs makes. Its pages take
	// memory once they have been written to.
	xfsLog = 64 << 20
)

// xfsOptions are those of the mount: blocks of removed files go back to the memory,
// and the log is written in few large pieces.
var xfsOptions = []string{"discard", "logbsize=256k", "logbufs=8"}

// newXFS makes XFS on a loop device over a file that has no name, in a tmpfs that has
// no place. The file, sparse, is as large as the machine's memory, so that the file
// system can grow to that.
func (m *Mount) newXFS(ctx context.Context, size, most int64) (*sys.Mount, error) {
	// size=0 is no limit: a full tmpfs would be an I/O error to XFS, which then fails
	// as a whole. XFS's own size is the limit.
	back, err := sys.NewMount("tmpfs", "size=0", "mode=0700", "?noswap")
	if err != nil {
		return nil, err
	}
	defer back.Close() //nolint:errcheck // only a descriptor: the loop device holds the file
	file, err := os.OpenFile(filepath.Join(back.Path(), "ramaria"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := errors.Join(os.Remove(file.Name()), file.Truncate(roundUp(max(size, most, leastXFS), sys.XFSBlock))); err != nil {
		return nil, err
	}
	if err := m.mkfs(ctx, file, size); err != nil {
		return nil, err
	}
	// mkfs.xfs writes the log's zeros.
	if _, err := sys.DigHolesIn(file); err != nil {
		return nil, err
	}
	loop, err := sys.LoopDevice(file)
	if err != nil {
		return nil, err
	}
	defer loop.Close() // from here on the mount holds it
	return sys.NewMount("xfs", append([]string{"source=" + loop.Name()}, xfsOptions...)...)
}

// mkfs makes XFS of the given size on a file or a block device.
func (m *Mount) mkfs(ctx context.Context, on *os.File, size int64) error {
	find := m.opener.MkfsXFS
	if find == nil {
		find = systemMkfs
	}
	argv, err := find(ctx)
	if err != nil {
		return err
	}
	// rmapbt is for repair, which nobody does in RAM; -K because the device is empty.
	argv = append(argv[:len(argv):len(argv)], "-q", "-f", "-K", "-m", "crc=1,reflink=1,rmapbt=0",
		"-d", fmt.Sprintf("size=%d", roundUp(max(size, leastXFS), sys.XFSBlock)), "-l", fmt.Sprintf("size=%d", xfsLog), "/proc/self/fd/3")
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.ExtraFiles = []*os.File{on}
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	// The parent-death signal comes when the thread that forked ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("mkfs.xfs: %w: %s", err, first)
	}
	return nil
}

// systemMkfs finds mkfs.xfs where the system has its programs, which need not be on
// the PATH of everybody.
func systemMkfs(context.Context) ([]string, error) {
	if path, err := exec.LookPath("mkfs.xfs"); err == nil {
		return []string{path}, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, "mkfs.xfs")
		if _, err := os.Stat(path); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no mkfs.xfs\nhint: install xfsprogs, or use --volume shm", ErrUnfit)
}

// growXFS grows the file system to the limit in n, at most to what its device has,
// and corrects what an empty one counts as used.
func (m *Mount) growXFS(n *note) error {
	before, err := sys.Statfs(m.dir)
	if err != nil {
		return err
	}
	if err := sys.GrowXFS(m.dir, roundUp(n.Limit, sys.XFSBlock)); err != nil {
		return fmt.Errorf("%w\nhint: it can grow to the memory of this machine, not further; leave the size out, or use a smaller one", err)
	}
	after, err := sys.Statfs(m.dir)
	if err != nil {
		return err
	}
	n.Empty += (after.Size - after.Avail) - (before.Size - before.Avail)
	return nil
}

// zramAlgorithms are the compression algorithms, the best for this first. Page images
// are read and written all the time: speed goes before density.
var zramAlgorithms = []string{"lz4", "lzo-rle"}

// zramRecord says which zram device is, or is going to be, the volume's.
type zramRecord struct {
	// Boot is the boot that the number belongs to.
	Boot   string `json:"boot"`
	Device int    `json:"device"`
}

func (m *Mount) recordPath() string { return m.dir + ".device" }

// newZram makes XFS on a zram device that is as large as the machine's memory.
func (m *Mount) newZram(ctx context.Context, size, most int64) (*sys.Mount, error) {
	z, err := sys.AddZram()
	if err != nil {
		return nil, err
	}
	boot, err := m.host.BootID()
	if err != nil {
		return nil, errors.Join(err, z.Remove())
	}
	b, err := json.Marshal(zramRecord{Boot: boot, Device: z.Number})
	if err == nil {
		err = os.WriteFile(m.recordPath(), b, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, z.Remove())
	}
	// From here on reclaim knows of it.
	if err := z.SetUp(roundUp(max(size, most, leastXFS), sys.XFSBlock), zramAlgorithms...); err != nil {
		return nil, err
	}
	dev, err := os.OpenFile(z.Path(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	err = m.mkfs(ctx, dev, size)
	if err = errors.Join(err, dev.Close()); err != nil {
		return nil, err
	}
	return sys.NewMount("xfs", append([]string{"source=" + z.Path()}, xfsOptions...)...)
}

// zram reads which device the volume is on; ok is false if none is written down, or
// one of another boot.
func (m *Mount) zram() (z sys.Zram, ok bool, err error) {
	b, err := os.ReadFile(m.recordPath())
	if errors.Is(err, fs.ErrNotExist) {
		return z, false, nil
	}
	if err != nil {
		return z, false, err
	}
	boot, err := m.host.BootID()
	if err != nil {
		return z, false, err
	}
	var r zramRecord
	if json.Unmarshal(b, &r) != nil || r.Boot != boot {
		return z, false, nil // cut short, before the device held anything, or from before a reboot
	}
	return sys.Zram{Number: r.Device}, true, nil
}

func (m *Mount) zramMemory() (int64, error) {
	z, ok, err := m.zram()
	if err != nil || !ok {
		return 0, err
	}
	used, _, err := z.Memory()
	return used, err
}

// reclaim takes away the zram device of a volume that is not mounted. It does nothing
// for other kinds, which leave nothing.
func (m *Mount) reclaim() error {
	z, ok, err := m.zram()
	if err != nil {
		return err
	}
	if ok {
		if err := z.Remove(); err != nil {
			return err
		}
	}
	if err := os.Remove(m.recordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
