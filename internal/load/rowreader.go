package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// errRowCut says that a file ends in the middle of a row.
var errRowCut = errors.New("the file ends in the middle of a row")

// errRowLong says that a row is larger than any that a server takes.
var errRowLong = fmt.Errorf("a row has more than %d MB", dump.MaxStatement>>20)

// rowReader reads a file of rows in pieces of whole rows.
type rowReader struct {
	in     io.Reader
	format dump.LineFormat
	rest   []byte // read, not given out yet
	eof    bool
	given  []byte // the last piece
	// line is the one in which rest begins, bytes how many were read.
	line  int
	bytes int64
}

// skip passes over lines.
func (r *rowReader) skip(lines int) error {
	for ; lines > 0; lines-- {
		text, ends, err := r.next(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.rest = append(bytes.Clone(text[ends[0]:]), r.rest...)
		r.line -= bytes.Count(text[ends[0]:], []byte{'\n'})
	}
	return nil
}

// ended says that nothing is left.
func (r *rowReader) ended() bool { return r.eof && len(r.rest) == 0 }

// next returns the next rows, of about so many bytes, and where each ends; io.EOF at the end.
func (r *rowReader) next(size int) (text []byte, ends []int, err error) {
	for {
		if err := r.fill(size); err != nil {
			return nil, nil, err
		}
		if len(r.rest) == 0 {
			return nil, nil, io.EOF
		}
		ends = r.format.Ends(nil, r.rest, r.eof)
		if len(ends) > 0 {
			break
		}
		if r.eof {
			return nil, nil, errRowCut
		}
		if len(r.rest) > dump.MaxStatement {
			return nil, nil, errRowLong
		}
		size = 2 * len(r.rest) // a row that is longer than that
	}
	end := ends[len(ends)-1]
	text = r.rest[:end:end]
	r.rest, r.given = bytes.Clone(r.rest[end:]), text
	r.line += bytes.Count(text, []byte{'\n'})
	return text, ends, nil
}

// fill reads until rest has so many bytes, and one more, by which the end of the file shows.
func (r *rowReader) fill(size int) error {
	size++
	if r.eof || len(r.rest) >= size {
		return nil
	}
	buf := make([]byte, size)
	n := copy(buf, r.rest)
	m, err := io.ReadFull(r.in, buf[n:])
	r.rest, r.bytes = buf[:n+m], r.bytes+int64(m)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		r.eof, err = true, nil
	}
	return err
}
