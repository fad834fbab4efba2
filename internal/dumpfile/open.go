package dumpfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/dump"
)

const (
	// readSize is the size of reads from the file, in bytes.
	readSize = 256 << 10
	// maxWindow bounds the memory of zstd and xz decompression; 128 MB is what the zstd
	// program itself accepts without --long, and twice what xz -9 needs.
	maxWindow = 128 << 20
)

// Compression is how the bytes of a dump are packed.
type Compression string

// The compressions, told apart by their first bytes and never by the file's name.
const (
	Plain Compression = "plain"
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
	XZ    Compression = "xz"
)

// Reader gives the text of a dump: decompressed, without a byte order mark. It
// streams; its memory is bounded by the decompressor's window (maxWindow).
type Reader struct {
	name  string
	kind  Compression
	text  io.Reader
	close []func() error
}

var _ io.ReadCloser = (*Reader)(nil)

// Open opens the dump at path. The caller closes it.
func Open(path string) (*Reader, error) { return OpenWatched(path, io.Discard) }

// OpenWatched is Open; watch gets what is read of the file, compressed as it may be.
func OpenWatched(path string, watch io.Writer) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open dump: %w", err)
	}
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open dump %s: is a directory", path)
	}
	r, err := NewReader(io.TeeReader(f, watch), path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.close = append(r.close, f.Close)
	return r, nil
}

// NewReader reads a dump from r, for instance standard input; name stands for it
// in errors. Closing the Reader does not close r.
func NewReader(r io.Reader, name string) (*Reader, error) {
	d := &Reader{name: name, kind: Plain}
	last := &lastBytes{r: r}
	raw := bufio.NewReaderSize(last, readSize)
	magic, err := raw.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read dump %s: %w", name, err)
	}
	d.text = raw
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		d.kind = Gzip
		z, err := newGzip(raw)
		if err != nil {
			return nil, d.fault(err)
		}
		// Its Close repeats the error of the last read and lets nothing go.
		d.text = z
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d.kind = Zstd
		// One goroutine, the caller's: nothing is left running after an error.
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, d.fault(err)
		}
		d.text, d.close = z, append(d.close, func() error { z.Close(); return nil })
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		d.kind = XZ
		z, err := newXZ(raw, last)
		if err != nil {
			return nil, d.fault(err)
		}
		d.text = z
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")), bytes.HasPrefix(magic, []byte("BZh")):
		return nil, &dump.Error{File: name, Msg: "this is a zip or bzip2 file; dumps are read plain, or gzip, zstd or xz compressed",
			Hint: "unpack it first"}
	}
	if err := d.skipMark(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// skipMark passes over a UTF-8 byte order mark, as the client does, and refuses
// UTF-16, which shells on Windows write, and what other database systems have written.
func (d *Reader) skipMark() error {
	text := bufio.NewReaderSize(d.text, readSize)
	mark, err := text.Peek(strangerBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.fault(err)
	}
	d.text = text
	if err := refuseStranger(d.name, mark); err != nil {
		return err
	}
	if bom := []byte{0xef, 0xbb, 0xbf}; bytes.HasPrefix(mark, bom) {
		_, err := text.Discard(len(bom))
		return err
	}
	if bytes.HasPrefix(mark, []byte{0xff, 0xfe}) || bytes.HasPrefix(mark, []byte{0xfe, 0xff}) {
		return &dump.Error{File: d.name, Msg: "this is UTF-16 text, which no server reads",
			Hint: "iconv -f UTF-16 -t UTF-8 " + d.name + " > dump.sql"}
	}
	return nil
}

// Name returns the name the dump was opened by.
func (d *Reader) Name() string { return d.name }

// Compression tells how the dump was packed.
func (d *Reader) Compression() Compression { return d.kind }

// Read returns the next bytes of text. A compressed file that is cut short or
// damaged gives a *dump.Error.
func (d *Reader) Read(p []byte) (int, error) {
	n, err := d.text.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.fault(err)
	}
	return n, err
}

func (d *Reader) fault(err error) error {
	var damaged *os.PathError // of the file itself, not of what is in it
	switch {
	case d.kind == Plain || errors.As(err, &damaged):
		return fmt.Errorf("read dump %s: %w", d.name, err)
	case errors.Is(err, errWindow):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("unpacking this %s file would take more than %d MB of memory", d.kind, maxWindow>>20),
			Hint: fmt.Sprintf("unpack it first: %s -dc %s > dump.sql", d.kind, d.name)}
	case errors.Is(err, errBehind):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("something that is not %s stands behind its %[1]s data", d.kind),
			Hint: fmt.Sprintf("is it a whole file? if what comes first is all of it: %s -dc %s > dump.sql", d.kind, d.name)}
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("the file is cut short: its %s data ends in the middle", d.kind),
			Hint: "copy or make the dump again"}
	default:
		return &dump.Error{File: d.name, Msg: fmt.Sprintf("the %s data is damaged: %v", d.kind, err),
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
