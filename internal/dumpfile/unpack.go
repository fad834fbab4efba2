package dumpfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// Compression is how the bytes of a dump are packed.
type Compression string

// The compressions, told apart by their first bytes and never by the file's name.
const (
	Plain Compression = "plain"
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
	XZ    Compression = "xz"
	Bzip2 Compression = "bzip2"
	Zip   Compression = "zip"
)

// command is how a shell unpacks such a file, whose name follows.
func (c Compression) command() string {
	if c == Zip {
		return "unzip -p "
	}
	return string(c) + " -dc "
}

// magicBytes is how many first bytes tell a packing.
const magicBytes = 10

// packing tells how what begins so is packed.
func packing(magic []byte) Compression {
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	case len(magic) > 3 && magic[0]&0xf0 == 0x50 && bytes.HasPrefix(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		return Zstd // a frame to be skipped, by which pzstd begins
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		return XZ
	case isBzip2(magic):
		return Bzip2
	case bytes.HasPrefix(magic, []byte(zipMember)), bytes.HasPrefix(magic, []byte(zipEnd)):
		return Zip
	}
	return Plain
}

// unpack returns what is in the packings.
func (d *Reader) unpack(from source) (io.Reader, error) {
	for {
		last := &lastBytes{r: faulty{d, from.r, Plain}}
		raw := bufio.NewReaderSize(last, readSize)
		magic, err := raw.Peek(magicBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		kind := packing(magic)
		if kind == Plain {
			return raw, nil
		}
		if len(d.packed) == maxPacked {
			return nil, &dump.Error{File: d.name, Msg: "this dump is packed more than twice, one packing in the other", Hint: unpackFirst + d.packed[0].command() + d.name + " > dump.sql"}
		}
		d.packed = append(d.packed, kind)
		r, err := d.unpackOne(kind, raw, last, from)
		if err != nil {
			return nil, d.fault(kind, err)
		}
		from = source{r: faulty{d, r, kind}}
	}
}

// unpackOne returns what is in one packing; last is below raw.
func (d *Reader) unpackOne(kind Compression, raw *bufio.Reader, last *lastBytes, from source) (io.Reader, error) {
	switch kind {
	case Gzip:
		return newGzip(raw) // its Close repeats the error of the last read and lets nothing go
	case Zstd:
		// One goroutine, the caller's: nothing is left running after an error.
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		d.close = append(d.close, func() error { z.Close(); return nil })
		return z, nil
	case XZ:
		return newXZ(raw, last)
	case Bzip2:
		return newBzip2(raw), nil
	}
	if from.at != nil {
		return d.openZip(from.at, from.size)
	}
	return d.streamZip(raw)
}

// faulty says what is wrong with what is read. A decompressor may say something else of a read that failed: the first
// fault counts.
type faulty struct {
	d    *Reader
	r    io.Reader
	kind Compression
}

func (f faulty) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.d.fault(f.kind, err)
	}
	return n, err
}

// watchedAt tells watch what is read.
type watchedAt struct {
	io.ReaderAt
	watch io.Writer
}

func (w watchedAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(p, at)
	if _, err := w.watch.Write(p[:n]); err != nil {
		return 0, err
	}
	return n, err
}
