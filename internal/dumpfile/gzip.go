package dumpfile

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errBehind says that something else stands behind what is compressed.
var errBehind = errors.New("something else follows")

// gzipReader reads a gzip file of one or several members as gzip(1) does: zeros behind the last, by
// which tapes and uploads pad, end it.
type gzipReader struct {
	z   *gzip.Reader
	raw *bufio.Reader
}

func newGzip(raw *bufio.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return gzipReader{z, raw}, nil
}

func (g gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := g.z.Read(p)
		if !errors.Is(err, io.EOF) || n > 0 {
			if errors.Is(err, io.EOF) {
				err = nil // the next Read finds it again
			}
			return n, err
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

// next goes to the next member; io.EOF says that there is none.
func (g gzipReader) next() error {
	for {
		b, err := g.raw.Peek(1)
		switch {
		case err != nil:
			return err
		case b[0] == 0x1f:
			if err := g.z.Reset(g.raw); err != nil {
				if errors.Is(err, gzip.ErrHeader) {
					err = errBehind
				}
				return err
			}
			g.z.Multistream(false)
			return nil
		case b[0] != 0:
			return errBehind
		}
		if _, err := g.raw.Discard(1); err != nil {
			return err
		}
	}
}
