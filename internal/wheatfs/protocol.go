package wheatfs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// The protocol of FUSE (linux/fuse.h), as much of it as one file wants. A library takes memory for each request, and copies
// what is written: this daemon must go on when the machine has no memory left, and passes on gigabytes a second.

const (
	// workers are how many requests are served at once.
	workers = 32
	// requestSize is the most that the kernel may read or write at once: it uses 256 pages at most, of which those of
	// memory that begins within a page hold one block less.
	requestSize = bufferSize - BlockSize
	bufferSize  = 256 * BlockSize
	// background is how many requests the kernel sends without waiting for answers.
	background = 2 * workers
	// fuseMajor and fuseMinor are the version of the protocol that is spoken, that of Linux 5.4.
	fuseMajor, fuseMinor = 7, 31
	// capabilities: a loop device does not wait for one request before it sends the next, and requests may be as large
	// as requestSize.
	capabilities = fuse.CAP_ASYNC_READ | fuse.CAP_ASYNC_DIO | fuse.CAP_BIG_WRITES | fuse.CAP_MAX_PAGES
)

// Calls, by their numbers.
const (
	opLookup      = 1
	opForget      = 2
	opGetAttr     = 3
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatFS      = 17
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
	opFallocate   = 43
)

// serve answers the kernel's requests for a device until it needs the device no longer.
func serve(requests *os.File, d *device) error {
	data, err := sys.NewArena(workers * (bufferSize + BlockSize))
	if err != nil {
		return err
	}
	clear(data.Bytes()) // which makes it memory, from the beginning
	ended := make(chan error, workers)
	for i := range workers {
		b := data.Bytes()[i*(bufferSize+BlockSize):]
		w := &worker{fd: int(requests.Fd()), device: d, data: b[:bufferSize], edge: b[bufferSize:][:BlockSize]}
		go func() { ended <- w.run() }()
	}
	for range workers {
		if err := <-ended; err != nil {
			return err // with it the process ends, and no request is left without an answer
		}
	}
	runtime.KeepAlive(requests)
	return data.Close()
}

// headSize is how much of a request lies before the data of a write: those lie in memory of their own, which begins at a
// page, so that they go to a disk from there.
const headSize = int(unsafe.Sizeof(fuse.WriteIn{}))

// worker answers one request after the other. It takes no memory for that.
type worker struct {
	fd     int
	device *device
	data   []byte // bufferSize
	edge   []byte // a block

	// in has room for the largest structure; the kernel fills headSize of it, and then data.
	in struct {
		fuse.WriteIn
		_ [64]byte
	}
	header fuse.OutHeader
	out    struct { // one of them is used
		entry  fuse.EntryOut
		attr   fuse.AttrOut
		open   fuse.OpenOut
		write  fuse.WriteOut
		statFS fuse.StatfsOut
		init   fuse.InitOut
	}
	view    View
	vectors [4]syscall.Iovec
}

// raw are the bytes of a structure.
func raw[T any](of *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(of)), unsafe.Sizeof(*of))
}

// as is the request as another structure than that of a write.
func as[T any](w *worker) *T { return (*T)(unsafe.Pointer(&w.in)) }

func (w *worker) run() error {
	for {
		n, err := sys.ReadVector(w.fd, w.vectors[:0], raw(&w.in)[:headSize], w.data)
		switch {
		case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ECONNABORTED): // the kernel needs the device no longer
			return nil
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOENT):
			continue // ENOENT: the request was withdrawn
		case err != nil:
			return fmt.Errorf("read request: %w", err)
		case n < int(unsafe.Sizeof(fuse.InHeader{})) || n != int(w.in.Length):
			return fmt.Errorf("read request: %d bytes, and it says %d", n, w.in.Length)
		}
		if err := w.answer(); err != nil {
			return err
		}
	}
}

// answer answers the request that was read.
func (w *worker) answer() error {
	d := w.device
	switch w.in.Opcode {
	case opForget, opBatchForget, opInterrupt: // they want no answer
		return nil
	case opInit:
		w.init(as[fuse.InitIn](w))
		return w.reply(0, raw(&w.out.init))
	case opLookup:
		header := int(unsafe.Sizeof(fuse.InHeader{}))
		name := raw(&w.in)[header:min(int(w.in.Length), headSize)]
		return w.reply(d.lookup(w.in.NodeId, name, &w.out.entry), raw(&w.out.entry))
	case opGetAttr:
		return w.reply(d.getAttr(w.in.NodeId, &w.out.attr), raw(&w.out.attr))
	case opOpen:
		d.open(&w.out.open)
		return w.reply(0, raw(&w.out.open))
	case opStatFS:
		d.statFS(&w.out.statFS)
		return w.reply(0, raw(&w.out.statFS))
	case opRead:
		return w.read(as[fuse.ReadIn](w))
	case opWrite:
		return w.write()
	case opFallocate:
		return w.reply(d.fallocate(as[fuse.FallocateIn](w)))
	case opRelease, opFlush, opDestroy:
		return w.reply(0)
	case opFsync: // what lies here is not to outlive the machine
		return w.reply(0)
	}
	return w.reply(syscall.ENOSYS)
}

func (w *worker) init(in *fuse.InitIn) {
	w.out.init = fuse.InitOut{
		Major: fuseMajor, Minor: min(in.Minor, fuseMinor), Flags: in.Flags & capabilities,
		MaxBackground: background, CongestionThreshold: background, MaxWrite: requestSize, MaxPages: 256, TimeGran: 1,
	}
}

func (w *worker) read(in *fuse.ReadIn) error {
	off, n := int64(in.Offset), int64(in.Size)
	if n > requestSize || off < 0 || off > math.MaxInt64-n {
		return w.reply(syscall.EINVAL)
	}
	if w.device.store.View(&w.view, off, n) {
		defer w.view.Close()
		return w.reply(0, w.view.Parts...)
	}
	first, end := blocksOf(off, n)
	_, err := w.device.store.ReadAt(w.data[:end-first], first)
	return w.reply(status(err), w.data[off-first:off-first+n])
}

func (w *worker) write() error {
	off, n := int64(w.in.Offset), int64(w.in.Size)
	if n != int64(w.in.Length)-int64(headSize) || n > requestSize || off < 0 || off > math.MaxInt64-n {
		return w.reply(syscall.EINVAL)
	}
	var err error
	if first, end := blocksOf(off, n); first == off && end == off+n {
		_, err = w.device.store.WriteAt(w.data[:n], off)
	} else {
		err = w.writeEdges(off, n)
	}
	w.out.write = fuse.WriteOut{Size: uint32(n)}
	return w.reply(status(err), raw(&w.out.write))
}

// blocksOf returns the whole blocks that n bytes at off lie in.
func blocksOf(off, n int64) (first, end int64) {
	return off / BlockSize * BlockSize, (off + n + BlockSize - 1) / BlockSize * BlockSize
}

// writeEdges writes what is not whole blocks: the kernel cuts a request where its 256 pages end, which is within a block if
// the memory of a program's direct write begins within a page. The other part of that block comes at the same time.
func (w *worker) writeEdges(off, n int64) error {
	store := w.device.store
	first, end := blocksOf(off, n)
	copy(w.data[off-first:], w.data[:n])
	w.device.edges.Lock()
	defer w.device.edges.Unlock()
	for _, edge := range []struct{ block, from, to int64 }{{first, first, off}, {end - BlockSize, off + n, end}} {
		if edge.from == edge.to {
			continue
		}
		if _, err := store.ReadAt(w.edge, edge.block); err != nil {
			return err
		}
		copy(w.data[edge.from-first:edge.to-first], w.edge[edge.from-edge.block:])
	}
	_, err := store.WriteAt(w.data[:end-first], first)
	return err
}

// reply sends an answer: an error, or parts.
func (w *worker) reply(errno syscall.Errno, parts ...[]byte) error {
	if errno != 0 {
		parts = nil
	}
	w.header = fuse.OutHeader{Unique: w.in.Unique, Status: -int32(errno)}
	n := unsafe.Sizeof(w.header)
	for _, p := range parts {
		n += uintptr(len(p))
	}
	w.header.Length = uint32(n)
	_, err := sys.WriteVector(w.fd, w.vectors[:0], raw(&w.header), parts...)
	if err != nil && !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("answer request: %w", err)
	}
	return nil // ENOENT: it was withdrawn meanwhile
}
