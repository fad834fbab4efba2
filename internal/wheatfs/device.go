package wheatfs

import (
	"errors"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// deviceName is the one file that the daemon serves, deviceNode its number; that of the directory is 1.
	deviceName = "device"
	deviceNode = 2
	// forever is how many seconds the kernel may believe what it was told about the file: nothing changes.
	forever = 1 << 30
)

// device is a FUSE file system of one file, which is a Store. What it answers is laid out as the kernel has it, by the
// structures of go-fuse.
type device struct {
	store *Store
	// edges is held by who writes a part of a block.
	edges sync.Mutex
}

func (d *device) attr(node uint64, out *fuse.Attr) syscall.Errno {
	switch node {
	case fuse.FUSE_ROOT_ID:
		*out = fuse.Attr{Ino: node, Mode: syscall.S_IFDIR | 0o700, Nlink: 2}
	case deviceNode:
		size := uint64(d.store.Size())
		*out = fuse.Attr{Ino: node, Mode: syscall.S_IFREG | 0o600, Nlink: 1, Size: size, Blocks: size / 512, Blksize: BlockSize}
	default:
		return syscall.ENOENT
	}
	return 0
}

func (d *device) lookup(node uint64, name []byte, out *fuse.EntryOut) syscall.Errno {
	if node != fuse.FUSE_ROOT_ID || string(name) != deviceName+"\x00" {
		return syscall.ENOENT
	}
	*out = fuse.EntryOut{NodeId: deviceNode, EntryValid: forever, AttrValid: forever}
	return d.attr(deviceNode, &out.Attr)
}

func (d *device) getAttr(node uint64, out *fuse.AttrOut) syscall.Errno {
	*out = fuse.AttrOut{AttrValid: forever}
	return d.attr(node, &out.Attr)
}

// open has reads and writes pass over the page cache, and go beside each other.
func (d *device) open(out *fuse.OpenOut) {
	*out = fuse.OpenOut{OpenFlags: fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES}
}

// statFS tells of blocks: a loop device discards in those.
func (d *device) statFS(out *fuse.StatfsOut) {
	*out = fuse.StatfsOut{Blocks: uint64(d.store.Size() / BlockSize), Bsize: BlockSize, Frsize: BlockSize, NameLen: 255}
}

// fallocate is how a loop device discards blocks, and writes zeros.
func (d *device) fallocate(in *fuse.FallocateIn) syscall.Errno {
	if !sys.FreesRange(in.Mode) {
		return syscall.EOPNOTSUPP
	}
	return status(d.store.Discard(int64(in.Offset), int64(in.Length)))
}

// status is what the kernel is told of an error.
func status(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err)
}

// errnoOf is apart because it takes memory.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errRange):
		return syscall.EINVAL
	case errors.As(err, &errno):
		return errno
	}
	return syscall.EIO
}
