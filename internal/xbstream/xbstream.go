// Package xbstream reads the streams that mariadb-backup and XtraBackup write (--stream=mbstream, --stream=xbstream):
// many files in one, cut into chunks that take turns. Every chunk is held against its checksum, a file that was not
// written to its end is a fault, and so is a stream that ends within a chunk.
//
// A chunk is, with numbers in little endian:
//
//	XBSTCK01      8 bytes
//	flags         1 byte; 1: a reader may pass the chunk over whose type it does not know
//	type          1 byte; P: payload, E: the end of the file
//	path          4 bytes of length, and the path
//	P alone:      8 bytes of payload's length, 8 of its offset in the file, 4 of its CRC-32, and the payload
//
// https://mariadb.com/kb/en/mbstream/ describes the programs; XtraBackup's sparse chunks are not read.
package xbstream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
)

// Magic is what every chunk begins with.
const Magic = "XBSTCK01"

// Bounds of what a sound stream has: longer ones are damage.
const (
	mostPath    = 4 << 10
	mostPayload = 256 << 20
)

// ErrSparse says that a stream has chunks of files with holes, as XtraBackup writes of compressed pages.
var ErrSparse = errors.New("it has chunks of files with holes, which only XtraBackup's own xbstream unpacks")

// Chunk is a part of a file.
type Chunk struct {
	// Path is the file's, relative and within the directory that the stream is of.
	Path string
	// Offset is where Payload begins in the file, in bytes. A chunk without payload ends the file if End is set.
	Offset  int64
	Payload []byte
	End     bool
}

// Read calls take with every chunk. The payload is valid until take returns.
func Read(r io.Reader, take func(Chunk) error) error {
	in := &reader{in: bufio.NewReaderSize(r, 1<<20)}
	open := map[string]int64{} // files without an end, and where the next chunk of them begins
	begun := false
	for {
		c, err := in.chunk()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", in.at, err)
		}
		begun = true
		if c.Path == "" {
			continue // one that may be passed over
		}
		if next := open[c.Path]; !c.End && c.Offset != next {
			return fmt.Errorf("at byte %d: the chunk of %s begins at %d, and the one before ended at %d", in.at, c.Path, c.Offset, next)
		}
		open[c.Path] = c.Offset + int64(len(c.Payload))
		if c.End {
			delete(open, c.Path)
		}
		if err := take(c); err != nil {
			return err
		}
	}
	if !begun {
		return errors.New("the stream is empty")
	}
	for path := range open {
		return fmt.Errorf("the stream is cut short: %s has no end", path)
	}
	return nil
}

type reader struct {
	in  *bufio.Reader
	at  int64
	buf []byte
}

// chunk reads one chunk; io.EOF says that the stream ends where one may begin.
func (r *reader) chunk() (c Chunk, err error) {
	head := make([]byte, len(Magic)+2+4)
	n, err := io.ReadFull(r.in, head)
	if r.at += int64(n); n == 0 && errors.Is(err, io.EOF) {
		return c, io.EOF
	}
	if err != nil {
		return c, cut(err)
	}
	if !bytes.HasPrefix(head, []byte(Magic)) {
		return c, errors.New("no chunk begins here")
	}
	flags, kind := head[8], head[9]
	path, err := r.take(int64(binary.LittleEndian.Uint32(head[10:])), mostPath)
	if err != nil {
		return c, err
	}
	c.Path = string(path)
	if !filepath.IsLocal(c.Path) {
		return c, fmt.Errorf("the path %q leads out of the backup", c.Path)
	}
	switch {
	case kind == 'E':
		c.End = true
		return c, nil
	case kind == 'P':
		err = r.payload(&c)
		return c, err
	case kind == 'S':
		return c, ErrSparse
	case flags&1 != 0:
		return Chunk{}, r.payload(&c)
	}
	return c, fmt.Errorf("the chunk of %s is of the unknown type %q", c.Path, kind)
}

// payload reads what follows the path.
func (r *reader) payload(c *Chunk) error {
	head, err := r.take(8+8+4, 8+8+4)
	if err != nil {
		return err
	}
	size, sum := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint32(head[16:])
	c.Offset = int64(binary.LittleEndian.Uint64(head[8:]))
	if size > mostPayload || c.Offset < 0 {
		return fmt.Errorf("the chunk of %s has a length of %d", c.Path, size)
	}
	if c.Payload, err = r.take(int64(size), mostPayload); err != nil {
		return err
	}
	if crc32.ChecksumIEEE(c.Payload) != sum {
		return fmt.Errorf("the chunk of %s at %d does not match its checksum", c.Path, c.Offset)
	}
	return nil
}

// take reads n bytes, which are valid until the next call.
func (r *reader) take(n, most int64) ([]byte, error) {
	if n > most {
		return nil, fmt.Errorf("a length of %d, where %d is the most", n, most)
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	got, err := io.ReadFull(r.in, r.buf[:n])
	r.at += int64(got)
	return r.buf[:n], cut(err)
}

// cut says that the stream ends where it must not.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the stream is cut short within a chunk")
	}
	return err
}
