package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// leastXFS is the smallest XFS that mkfs.xfs makes, in bytes.
	leastXFS = 300 << 20
	// xfsLog is the size of its log, the smallest that mkfs.xfs makes. Its pages take
	// memory once they have been written to.
	xfsLog = 64 << 20
	// xfsFixed bytes, and of its size one part in xfsAside, XFS does not give out.
	xfsFixed = 32 << 20
	xfsAside = 64
)

// xfsOptions are those of the mount: blocks of removed files go back to the memory, and
// times of files, which each write changes, need no transaction (docs/snapshots.md).
// Larger log buffers (logbsize) and allocsize were measured and change no clone's time.
var xfsOptions = []string{"discard", "lazytime"}

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
	if err := errors.Join(os.Remove(file.Name()), file.Truncate(xfsSize(max(size, most)))); err != nil {
		return nil, err
	}
	if err := m.mkfs(ctx, file, size); err != nil {
		return nil, err
	}
	// mkfs.xfs writes the log's zeros.
	if _, err := sys.DigHolesIn(file); err != nil {
		return nil, err
	}
	loop, err := sys.LoopDevice(file, 0)
	if err != nil {
		return nil, err
	}
	defer loop.Close() // from here on the mount holds it
	return m.mountXFS(loop.Name())
}

// mountXFS mounts a block device, without a place yet.
func (m *Mount) mountXFS(device string) (*sys.Mount, error) {
	return sys.NewMount(m.opener.filesystem(m.kind), append([]string{"source=" + device}, xfsOptions...)...)
}

// xfsSize is the size, in bytes, of a file system that has room for limit: the log and
// what XFS sets aside for its own structures, measured, come on top.
func xfsSize(limit int64) int64 {
	return roundUp(max(limit+limit/xfsAside+xfsFixed+xfsLog, leastXFS), sys.XFSBlock)
}

// mkfs makes XFS of the given size on a file or a block device.
func (m *Mount) mkfs(ctx context.Context, on *os.File, size int64) error {
	argv, err := m.opener.findMkfs(ctx)
	if err != nil {
		return err
	}
	// rmapbt is for repair, which is not done in RAM; -K because the device is empty.
	argv = append(argv[:len(argv):len(argv)], "-q", "-f", "-K", "-m", "crc=1,reflink=1,rmapbt=0",
		"-d", fmt.Sprintf("size=%d", xfsSize(size)), "-l", fmt.Sprintf("size=%d", xfsLog))
	if err := sys.MakeFS(ctx, argv, on); err != nil {
		return fmt.Errorf("mkfs.xfs: %w", err)
	}
	return nil
}

// findMkfs finds mkfs.xfs.
func (o *Opener) findMkfs(ctx context.Context) ([]string, error) {
	if o.MkfsXFS != nil {
		return o.MkfsXFS(ctx)
	}
	return systemMkfs(ctx)
}

// systemMkfs finds mkfs.xfs where the system has its programs.
func systemMkfs(context.Context) ([]string, error) {
	if path := sys.SystemProgram("mkfs.xfs"); path != "" {
		return []string{path}, nil
	}
	return nil, fmt.Errorf("%w: there is no mkfs.xfs\nhint: install xfsprogs, or use --volume shm", ErrUnfit)
}

// growXFS grows the file system from the limit in n to limit, at most to what its
// device has, and corrects what an empty one counts as used.
func (m *Mount) growXFS(n *note, limit int64) error {
	if xfsSize(limit) <= xfsSize(n.Limit) {
		return nil
	}
	memory, err := m.host.Memory()
	if err != nil {
		return err
	}
	if limit > memory.Total {
		return fmt.Errorf("grow to %s: this machine has %s of memory\nhint: it can grow to the memory of this machine, not further: leave the size out, or use a smaller one", FormatBytes(limit), FormatBytes(memory.Total))
	}
	before, err := sys.Statfs(m.dir)
	if err != nil {
		return err
	}
	if err := sys.GrowXFS(m.dir, xfsSize(limit)); err != nil {
		return fmt.Errorf("%w\nhint: it can grow to the memory of this machine, not further: leave the size out, or use a smaller one", err)
	}
	after, err := sys.Statfs(m.dir)
	if err != nil {
		return err
	}
	n.Empty += (after.Size - after.Avail) - (before.Size - before.Avail)
	return nil
}
