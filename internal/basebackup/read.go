package basebackup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Check reads all packs of a base, also what this one does not need of them, and compares each page with
// its hash, without writing. What is not as it was written is an *archive.DamagedError. progress, which may be nil, gets the bytes that were
// compared so far, of Index.Size.
func Check(ctx context.Context, d archive.Disk, x *Index, progress func(done int64)) error {
	return x.read(ctx, d, progress, true, func() sink { return nothing{} })
}

// HasPacks makes sure that the packs of a base are there, of the size that they were written with. The error is an
// *archive.DamagedError if not. It does not read them, as Check does.
func (x *Index) HasPacks(d archive.Disk) error {
	for _, p := range x.packs {
		r, err := x.openPack(d, p)
		if err != nil {
			return err
		}
		if err := r.close(); err != nil {
			return err
		}
	}
	return nil
}

// openPack opens a pack that was written with a size.
func (x *Index) openPack(d archive.Disk, info packInfo) (*reader, error) {
	p := x.part(packKind, info.id)
	r, err := p.open(d)
	if err != nil {
		return nil, err
	}
	if r.size != info.size || r.length != 0 {
		return nil, errors.Join(p.damaged(min(r.size, info.size), "it has %d bytes, not %d", r.size, info.size), r.close())
	}
	return r, nil
}

// sink takes pages of files. Each worker has its own.
type sink interface {
	// take takes bytes of a file, from a page on.
	take(e *entry, b []byte, page int64) error
	close() error
}

type nothing struct{}

func (nothing) take(*entry, []byte, int64) error { return nil }
func (nothing) close() error                     { return nil }

// target is a page of a file that a page of a pack is for.
type target struct {
	n     uint32 // in the pack
	entry int32
	page  uint32
}

// targets are the pages in each pack, in its order.
func (x *Index) targets() map[uint32][]target {
	m := map[uint32][]target{}
	for i := range x.entries {
		for n, p := range x.entries[i].pages {
			if p.pack != 0 {
				m[p.pack] = append(m[p.pack], target{p.n, int32(i), uint32(n)})
			}
		}
	}
	for _, list := range m {
		slices.SortFunc(list, func(a, b target) int { return cmp.Compare(a.n, b.n) })
	}
	return m
}

// job is a block of a pack, with what its pages are for.
type job struct {
	part    part
	info    blockInfo
	first   uint32 // page of the pack
	buf     []byte
	stored  []byte // in buf
	targets []target
}

// reading is one run of read: one goroutine reads each pack once, from its beginning to its end;
// workers decompress, compare and give on.
type reading struct {
	x    *Index
	all  bool // blocks that this base does not need are read too, and hashes of pages compared
	free chan *job
	work chan *job

	mu       sync.Mutex // guards what follows
	done     int64
	progress func(done int64)
}

func (x *Index) read(ctx context.Context, d archive.Disk, progress func(done int64), all bool, sinks func() sink) error {
	r := &reading{x: x, all: all, progress: progress, free: make(chan *job, buffers), work: make(chan *job)}
	for range buffers {
		r.free <- &job{}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(r.work)
		targets := x.targets()
		for _, p := range x.packs {
			if err := r.pack(ctx, d, p, targets[p.id]); err != nil {
				return err
			}
		}
		return nil
	})
	for range workers {
		g.Go(func() (err error) {
			to := sinks()
			defer func() { err = errors.Join(err, to.close()) }()
			return r.decode(ctx, to)
		})
	}
	return g.Wait()
}

// pack reads the blocks of a pack.
func (r *reading) pack(ctx context.Context, d archive.Disk, info packInfo, list []target) (err error) {
	f, err := r.x.openPack(d, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	p := f.part
	for first := uint32(0); ; {
		i, ok, err := f.next()
		if err != nil {
			return err
		}
		if !ok {
			if first != info.pages {
				return p.damaged(f.at, "it has %d pages, not %d", first, info.pages)
			}
			if sumOf(f.heads) != info.heads {
				return p.damaged(0, "it is another pack than base %d was written with", r.x.id)
			}
			return nil
		}
		pages := uint32(i.raw / PageSize)
		if pages == 0 || i.raw%PageSize != 0 || pages > info.pages-first {
			return p.damaged(i.at, "a block of %d bytes", i.raw)
		}
		in, _ := slices.BinarySearchFunc(list, first+pages, func(t target, n uint32) int { return cmp.Compare(t.n, n) })
		if err := r.block(ctx, f, i, first, list[:in]); err != nil {
			return err
		}
		first, list = first+pages, list[in:]
	}
}

// block gives a block to a worker, if anything in it is needed.
func (r *reading) block(ctx context.Context, f *reader, i blockInfo, first uint32, list []target) (err error) {
	if len(list) == 0 && !r.all {
		return errors.Join(ctx.Err(), f.skip(i))
	}
	var j *job
	select {
	case j = <-r.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if cap(j.buf) < i.stored {
		j.buf = make([]byte, i.stored)
	}
	if j.stored, err = f.payload(i, j.buf[:cap(j.buf)]); err != nil {
		return err
	}
	j.part, j.info, j.first, j.targets = f.part, i, first, list
	select {
	case r.work <- j:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *reading) decode(ctx context.Context, to sink) error {
	dec, err := newDecoder()
	if err != nil {
		return err
	}
	defer dec.Close()
	var buf []byte
	for j := range r.work {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if buf, err = j.part.decode(dec, j.info, j.stored, buf); err != nil {
			return err
		}
		if err := r.give(buf, j, to); err != nil {
			return err
		}
		r.free <- j
	}
	return nil
}

// give gives the pages of a block to the files that they are for.
func (r *reading) give(raw []byte, j *job, to sink) error {
	done := int64(0)
	for list := j.targets; len(list) > 0; {
		run := along(list)
		e, n := &r.x.entries[list[0].entry], int64(list[0].page)
		b := raw[(list[0].n-j.first)*PageSize:][:run*PageSize]
		for k := 0; r.all && k < run; k++ {
			if hashOf(b[k*PageSize:][:PageSize]) != e.pages[n+int64(k)].hash {
				return j.part.damaged(j.info.at, "the block holds another page %d of %s than was read", n+int64(k), e.path)
			}
		}
		b = b[:min(int64(len(b)), e.size-n*PageSize)]
		if err := to.take(e, b, n); err != nil {
			return err
		}
		done += int64(len(b))
		list = list[run:]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done += done; r.progress != nil && done > 0 {
		r.progress(r.done)
	}
	return nil
}

// along is how many targets, from the first on, follow each other in the pack and in the file.
func along(list []target) int {
	n := 1
	for n < len(list) && list[n].entry == list[0].entry && list[n].n == list[0].n+uint32(n) && list[n].page == list[0].page+uint32(n) {
		n++
	}
	return n
}
