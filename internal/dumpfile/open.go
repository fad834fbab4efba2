package dumpfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ramaria-db/ramaria/internal/dump"
)

const (
	// readSize is the size of reads from the file, in bytes.
	readSize = 256 << 10
	// maxWindow bounds the memory of zstd and xz decompression; 128 MB is what the zstd
	// program itself accepts without --long, and twice what xz -9 needs.
	maxWindow = 128 << 20
	// maxPacked is how often a dump may be packed, one packing in the other: a .sql.gz in a zip archive.
	maxPacked = 2
)

// Reader gives the text of a dump in UTF-8: unpacked, without a byte order mark. It
// streams; its memory is bounded by the decompressor's window (maxWindow).
type Reader struct {
	name string
	// packed are the packings, from outside in.
	packed []Compression
	text   io.Reader
	notes  []string
	// failed is the first fault: what stands behind is a consequence of it.
	failed error
	close  []func() error
}

var _ io.ReadCloser = (*Reader)(nil)

// Open opens the dump at path. The caller closes it.
func Open(path string) (*Reader, error) { return OpenWatched(path, path, io.Discard) }

// OpenWatched is Open; name stands for the dump in errors, and watch gets what is read of the file, compressed as it may be.
func OpenWatched(path, name string, watch io.Writer) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	fi, err := f.Stat()
	if err == nil && fi.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open dump %s: is a directory", path)
	}
	from := source{r: io.TeeReader(f, watch)}
	if err == nil && fi.Mode().IsRegular() {
		from.at, from.size = watchedAt{f, watch}, fi.Size()
	}
	r, err := open(from, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.close = append(r.close, f.Close)
	return r, nil
}

// NewReader reads a dump from r, for instance standard input; name stands for it
// in errors. Closing the Reader does not close r.
func NewReader(r io.Reader, name string) (*Reader, error) { return open(source{r: r}, name) }

// NewPart reads part of a dump by another program, such as rows or a description: unpacked, and as it stands there.
func NewPart(r io.Reader, name string) (*Reader, error) {
	d := &Reader{name: name}
	var err error
	if d.text, err = d.unpack(source{r: r}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// source is where the bytes of a dump come from.
type source struct {
	r io.Reader
	// at is nil for what can only be read from its beginning on; size is in bytes.
	at   io.ReaderAt
	size int64
}

// open opens what was packed, and looks at the text.
func open(from source, name string) (*Reader, error) {
	d := &Reader{name: name}
	text, err := d.unpack(from)
	if err == nil {
		err = d.look(text)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Name returns the name the dump was opened by.
func (d *Reader) Name() string { return d.name }

// Compression tells how the dump was packed: of several packings the outermost.
func (d *Reader) Compression() Compression {
	if len(d.packed) == 0 {
		return Plain
	}
	return d.packed[0]
}

// Notes says what was done with the dump that its user may not expect: sentences, of a line each.
func (d *Reader) Notes() []string { return d.notes }

// Tell has the notes said; say may be nil.
func (d *Reader) Tell(say func(format string, args ...any)) {
	if say == nil {
		return
	}
	for _, note := range d.notes {
		say("%s", note)
	}
}

// Read returns the next bytes of text. A compressed file that is cut short or
// damaged gives a *dump.Error.
func (d *Reader) Read(p []byte) (int, error) {
	n, err := d.text.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.fault(Plain, err)
	}
	return n, err
}

// fault says what is wrong with a packing.
func (d *Reader) fault(kind Compression, err error) error {
	if d.failed == nil {
		d.failed = d.explain(kind, err)
	}
	return d.failed
}

func (d *Reader) explain(kind Compression, err error) error {
	var known *dump.Error
	switch {
	case errors.As(err, &known):
		return err
	case kind == Plain:
		return fmt.Errorf("read dump %s: %w", d.name, err)
	case errors.Is(err, errWindow):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("unpacking this %s file would take more than %d MB of memory", kind, maxWindow>>20),
			Hint: unpackFirst + kind.command() + d.name + " > dump.sql"}
	case errors.Is(err, errBehind):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("something that is not %s stands behind its %[1]s data", kind),
			Hint: "is it a whole file? if what comes first is all of it: " + kind.command() + d.name + " > dump.sql"}
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("the file is cut short: its %s data ends in the middle", kind),
			Hint: "copy or make the dump again"}
	default:
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("the %s data is damaged: %v", kind, err),
			Hint: "copy or make the dump again"}
	}
}

// Close lets go of the decompressor, and of the file if Open opened it.
func (d *Reader) Close() error {
	var errs []error
	for _, c := range d.close {
		errs = append(errs, c())
	}
	d.close = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close dump %s: %w", d.name, err)
	}
	return nil
}
