package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/pack"
)

// PackRequest asks to rewrite a dump so that it loads faster.
type PackRequest struct {
	// In is the path or URL of the dump, Out that of the file to write; Stdin ("-") means the field
	// Stdin or Stdout.
	In, Out string
	Options pack.Options
	// Mode is the mode of Out where In has none of its own.
	Mode   fs.FileMode
	Stdin  io.Reader
	Stdout io.Writer
}

// Packed describes a dump that was packed.
type Packed struct {
	pack.Summary
	// Name names In in messages.
	Name string
	// Size is the size of Out, in bytes.
	Size int64
	Took time.Duration
}

// Pack rewrites a dump so that any client loads it faster. Out appears once it is complete.
func (e *Engine) Pack(ctx context.Context, q PackRequest) (_ Packed, err error) {
	in, err := findDump(q.In, q.Stdin)
	if err != nil {
		return Packed{}, err
	}
	if to, err := os.Stat(q.Out); err == nil && in.info != nil && os.SameFile(in.info, to) && to.Mode().IsRegular() {
		return Packed{}, RequestError{fmt.Errorf("pack %s: input and output are the same file\nhint: -o another file", q.In)}
	}
	if err := in.connect(ctx); err != nil {
		return Packed{}, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	bar := e.bar("packing", in)
	began := time.Now()
	p, err := q.pack(ctx, in, e.note, bar)
	if err := bar.Close(); err != nil {
		return Packed{}, err
	}
	p.Name, p.Took = in.name, time.Since(began)
	if ctx.Err() != nil {
		return Packed{}, fmt.Errorf("pack %s: interrupted: %w", in.name, ctx.Err())
	}
	return p, err
}

// pack packs and keeps what was written.
func (q PackRequest) pack(ctx context.Context, in dumpFile, say func(string, ...any), bar io.Writer) (p Packed, err error) {
	r, err := in.open(ctx, bar)
	if err != nil {
		return p, err
	}
	defer r.Close()
	r.Tell(say)
	if q.Out == Stdin {
		p.Summary, err = pack.Pack(ctx, q.Stdout, r, in.name, q.Options)
		p.Size = p.Bytes
		return p, err
	}
	// Users who may not read the dump may not read the packed one.
	mode := q.Mode
	if in.regular() {
		mode = in.info.Mode().Perm() & 0o666
	}
	f, err := pack.Create(q.Out, mode)
	if err != nil {
		return p, err
	}
	defer f.Close()
	if p.Summary, err = pack.Pack(ctx, f, r, in.name, q.Options); err != nil {
		return p, err
	}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	err = f.Keep()
	p.Size = f.Size
	return p, err
}
