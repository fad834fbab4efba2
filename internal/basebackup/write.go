package basebackup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Written is what writing a base took.
type Written struct {
	Bytes   int64 // on the disk: pack and index
	Pages   int64 // in files, without those of zeros
	Changed int64 // of these, written
}

// Write writes the directory dir as base id, which is above all that are there. prev is the index of an
// earlier base, whose pages are not written again; nil: all pages. skip leaves files out, and
// directories with all that is in them, by paths below dir. When it returns without an error the base
// lasts, files and directory synced; the manifest may name it. Nothing else is needed to read it but
// packs of earlier bases (Index.Packs).
//
// Nothing may write to dir meanwhile. A link, a device or a FIFO in it is an error, sys.ErrNotPlain.
func Write(ctx context.Context, d archive.Disk, archiveID [16]byte, id uint32, dir string, prev *Index, skip func(rel string) bool) (*Index, Written, error) {
	if id == 0 || prev != nil && prev.id >= id {
		return nil, Written{}, fmt.Errorf("write base %d: its number must be above 0 and those of earlier ones", id)
	}
	w := &write{
		disk: d, x: &Index{archive: archiveID, id: id}, was: prev.files(),
		free: make(chan *chunk, buffers), filled: make(chan *chunk), packed: make(chan *chunk),
	}
	for range buffers {
		w.free <- nil // made when it is needed: most files of a small base fit one
	}
	err := w.run(ctx, dir, prev, skip)
	if err != nil {
		w.discard()
		return nil, Written{}, fmt.Errorf("write base %d: %w", id, err)
	}
	return w.x, w.written, nil
}

const (
	// workers is how many goroutines hash and compress, or decompress and write.
	workers = 2
	// buffers is how many blocks are under way at most: each takes 2 MB.
	buffers = workers + 3
	// readSize is how much is read at once, in bytes: a loop device has one worker, and the server's own reads and
	// writes wait for it meanwhile.
	readSize = 128 << 10
)

// write is one run of Write: one goroutine reads files into chunks, workers find what has changed in
// these and compress it, and one goroutine writes.
type write struct {
	disk    archive.Disk
	x       *Index
	was     map[string]*entry // files of the base before
	written Written

	free, filled, packed chan *chunk
	pack                 *writer // nil until there is something to write
	pages                uint32  // in it
}

// chunk is up to blockPages pages of one or more files.
type chunk struct {
	raw   []byte
	pages []chunkPage
	// out has room for the head of a block, and what changed, compressed; changed is what is in it.
	out     []byte
	changed []*page
	some    int64 // pages that are not of zeros
}

type chunkPage struct {
	is  *page // of the new index, to be filled in
	was *page // of the earlier one; nil if it has none
}

func newChunk() *chunk {
	return &chunk{raw: make([]byte, 0, blockSize), out: make([]byte, blockHead, blockHead+mostStored)}
}

func (w *write) run(ctx context.Context, dir string, prev *Index, skip func(rel string) bool) error {
	if err := makeDir(w.disk); err != nil {
		return err
	}
	g, all := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(w.filled)
		return w.read(all, dir, skip)
	})
	compressors, each := errgroup.WithContext(all)
	for range workers {
		compressors.Go(func() error { return w.compress(each) })
	}
	g.Go(func() error {
		defer close(w.packed)
		return compressors.Wait()
	})
	g.Go(w.store)
	if err := g.Wait(); err != nil {
		return err
	}
	return w.finish(prev)
}

func makeDir(d archive.Disk) error {
	if err := d.Mkdir(baseDir); err != nil {
		return err
	}
	return d.SyncDir(".")
}

// send gives a chunk to who takes it next.
func send(ctx context.Context, to chan<- *chunk, c *chunk) error {
	select {
	case to <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read makes the entries of the index, and gives the files' pages to compress.
func (w *write) read(ctx context.Context, dir string, skip func(rel string) bool) error {
	var c *chunk
	err := walk{skip, func(ctx context.Context, e entry, f *os.File) error {
		if pagesOf(e.size) > mostPages {
			return fmt.Errorf("it has %d bytes, and at most %d can be backed up", e.size, mostPages*PageSize)
		}
		if !e.dir {
			e.pages = make([]page, pagesOf(e.size))
		}
		w.x.entries = append(w.x.entries, e)
		if e.dir {
			return nil
		}
		return w.readFile(ctx, &e, f, &c)
	}}.run(ctx, dir)
	if err != nil || c == nil {
		return err
	}
	return send(ctx, w.filled, c)
}

// readFile reads a file's data, without holes. c is the chunk that is being filled, nil if none is.
func (w *write) readFile(ctx context.Context, e *entry, f *os.File, c **chunk) error {
	was := w.was[e.path]
	for at := int64(0); at < e.size; {
		start, end, err := sys.NextData(int(f.Fd()), at, e.size)
		if err != nil {
			return err
		}
		if start == e.size {
			return nil
		}
		n, last := max(start, at)/PageSize, pagesOf(end)
		for n < last {
			if *c == nil {
				select {
				case *c = <-w.free:
					if *c == nil {
						*c = newChunk()
					}
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			count := min(last-n, int64(blockPages-len((*c).pages)))
			if err := (*c).read(e, was, f, n, count); err != nil {
				return err
			}
			n += count
			if len((*c).pages) == blockPages {
				if err := send(ctx, w.filled, *c); err != nil {
					return err
				}
				*c = nil
			}
		}
		at = last * PageSize
	}
	return nil
}

// read adds pages of a file, from n on. The last page of a file is filled up with zeros.
func (c *chunk) read(e, was *entry, f *os.File, n, count int64) error {
	at := len(c.raw)
	c.raw = c.raw[:at+int(count)*PageSize]
	want := min(e.size-n*PageSize, count*PageSize)
	for done := int64(0); done < want; done += readSize {
		end := min(done+readSize, count*PageSize)
		if err := sys.ReadDirect(f, c.raw[int64(at)+done:int64(at)+end], n*PageSize+done, min(end, want)-done); err != nil {
			return err
		}
	}
	clear(c.raw[at+int(want):])
	for i := n; i < n+count; i++ {
		p := chunkPage{is: &e.pages[i]}
		if was != nil && i < int64(len(was.pages)) {
			p.was = &was.pages[i]
		}
		c.pages = append(c.pages, p)
	}
	return nil
}

// compress finds the changed pages of chunks, and compresses these.
func (w *write) compress(ctx context.Context) error {
	enc, err := newEncoder()
	if err != nil {
		return err
	}
	for c := range w.filled {
		if changed := c.choose(); len(changed) > 0 {
			c.out = enc.EncodeAll(changed, c.out[:blockHead])
		}
		if err := send(ctx, w.packed, c); err != nil {
			return err
		}
	}
	return nil
}

// choose fills in what is known of the pages, and moves those that must be written to the front.
func (c *chunk) choose() []byte {
	for i, p := range c.pages {
		b := c.raw[i*PageSize:][:PageSize]
		if isZero(b) {
			continue
		}
		c.some++
		p.is.hash = hashOf(b)
		if p.was != nil && p.was.pack != 0 && p.was.hash == p.is.hash {
			*p.is = *p.was
			continue
		}
		copy(c.raw[len(c.changed)*PageSize:], b)
		c.changed = append(c.changed, p.is)
	}
	return c.raw[:len(c.changed)*PageSize]
}

// store writes blocks, in whatever order they come.
func (w *write) store() error {
	for c := range w.packed {
		if err := w.put(c); err != nil {
			return err
		}
		c.raw, c.pages, c.changed, c.some = c.raw[:0], c.pages[:0], c.changed[:0], 0
		w.free <- c
	}
	return nil
}

func (w *write) put(c *chunk) (err error) {
	w.written.Pages += c.some
	if len(c.changed) == 0 {
		return nil
	}
	if w.pack == nil {
		if w.pack, err = w.x.part(packKind, w.x.id).create(w.disk, 0); err != nil {
			return err
		}
	}
	for _, p := range c.changed {
		p.pack, p.n = w.x.id, w.pages
		w.pages++
	}
	w.written.Changed += int64(len(c.changed))
	return w.pack.block(c.out, len(c.changed)*PageSize)
}

// finish makes the base last: the pack, then the index, then their names.
func (w *write) finish(prev *Index) error {
	var known []packInfo
	if prev != nil {
		known = append(known, prev.packs...)
	}
	if w.pack != nil {
		pack := w.pack
		w.pack = nil // closed below
		known = append(known, packInfo{w.x.id, w.pages, pack.at, sumOf(pack.heads)})
		w.written.Bytes = pack.at
		if err := pack.finish(w.disk); err != nil {
			return err
		}
	}
	w.x.setPacks(known)
	size, err := w.x.write(w.disk)
	if err != nil {
		return err
	}
	w.written.Bytes += size
	return w.disk.SyncDir(baseDir)
}

// discard removes what a failed run has left, as far as that goes: the disk may be full.
func (w *write) discard() {
	if w.pack != nil {
		_ = w.pack.file.Close()
	}
	for _, k := range []kind{indexKind, packKind} {
		name := w.x.part(k, w.x.id).name()
		_ = errors.Join(w.disk.Remove(name+newSuffix), w.disk.Remove(name))
	}
}
