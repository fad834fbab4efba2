package wheatfs

import (
	"errors"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// deviceName is the one file that the daemon serves, deviceNode its number; that of the directory is 1.
	deviceName = "device"
	deviceNode = 2
	// forever is how long the kernel may believe what it was told about the file: nothing changes.
	forever = 1000 * time.Hour
)

// device is a FUSE file system of one file, which is a Store.
type device struct {
	fuse.RawFileSystem // answers that there is no such call
	store              *Store
}

// fuseOptions are those of its server. Requests are as large as the kernel makes them, 1 MiB, and a loop device
// does not wait for one before it sends the next.
func fuseOptions() *fuse.MountOptions {
	return &fuse.MountOptions{Name: "wheatfs", MaxWrite: ChunkSize, MaxBackground: 64, DisableXAttrs: true, DisableSplice: true, ExtraCapabilities: fuse.CAP_ASYNC_DIO}
}

func (d *device) String() string { return "wheatfs" }

func (d *device) attr(node uint64, out *fuse.Attr) fuse.Status {
	switch node {
	case fuse.FUSE_ROOT_ID:
		*out = fuse.Attr{Ino: node, Mode: syscall.S_IFDIR | 0o700, Nlink: 2}
	case deviceNode:
		size := uint64(d.store.Size())
		*out = fuse.Attr{Ino: node, Mode: syscall.S_IFREG | 0o600, Nlink: 1, Size: size, Blocks: size / 512, Blksize: BlockSize}
	default:
		return fuse.ENOENT
	}
	return fuse.OK
}

// Lookup implements fuse.RawFileSystem.
func (d *device) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if in.NodeId != fuse.FUSE_ROOT_ID || name != deviceName {
		return fuse.ENOENT
	}
	out.NodeId = deviceNode
	out.SetEntryTimeout(forever)
	out.SetAttrTimeout(forever)
	return d.attr(deviceNode, &out.Attr)
}

// GetAttr implements fuse.RawFileSystem.
func (d *device) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.SetTimeout(forever)
	return d.attr(in.NodeId, &out.Attr)
}

// Open implements fuse.RawFileSystem: reads and writes pass over the page cache, and go beside each other.
func (d *device) Open(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_PARALLEL_DIRECT_WRITES
	return fuse.OK
}

// Read implements fuse.RawFileSystem.
func (d *device) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if b, done, ok := d.store.View(int64(in.Offset), int64(in.Size)); ok {
		return &view{ReadResult: fuse.ReadResultData(b), done: done}, fuse.OK
	}
	n, err := d.store.ReadAt(buf[:in.Size], int64(in.Offset))
	return fuse.ReadResultData(buf[:n]), status(err)
}

// view is an answer that lies in the store.
type view struct {
	fuse.ReadResult
	done func()
}

func (v *view) Done() { v.done() }

// Write implements fuse.RawFileSystem.
func (d *device) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := d.store.WriteAt(data, int64(in.Offset))
	return uint32(n), status(err)
}

// Fallocate implements fuse.RawFileSystem: a loop device discards blocks by it, and writes zeros.
func (d *device) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if !sys.FreesRange(in.Mode) {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return status(d.store.Discard(int64(in.Offset), int64(in.Length)))
}

// Fsync implements fuse.RawFileSystem: what lies here is not to outlive the machine.
func (d *device) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.OK }

// StatFs implements fuse.RawFileSystem. A loop device discards in the blocks that this tells.
func (d *device) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{Blocks: uint64(d.store.Size() / BlockSize), Bsize: BlockSize, Frsize: BlockSize, NameLen: 255}
	return fuse.OK
}

// status is what the kernel is told of an error.
func status(err error) fuse.Status {
	var errno syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.Is(err, errRange):
		return fuse.EINVAL
	case errors.As(err, &errno):
		return fuse.Status(errno)
	}
	return fuse.EIO
}
