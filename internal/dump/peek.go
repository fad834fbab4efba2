package dump

import (
	"errors"
	"io"
)

// PeekLimit is how many decompressed bytes Peek reads at most.
const PeekLimit = 1 << 20

// peekBuffer is how many bytes Peek holds: it looks at beginnings only.
const peekBuffer = 64 << 10

// Head is what the beginning of a dump tells.
type Head struct {
	// Schema says that the dump makes tables, views or the like before it fills
	// any; Data that it fills tables that it did not make. Neither is set when
	// nothing of the kind came within PeekLimit.
	Schema, Data bool
	// NeedsDatabase says that a table was named without its database before any
	// USE, up to the statement that decided between Schema and Data.
	NeedsDatabase bool
	// Databases are those named by USE and CREATE DATABASE so far.
	Databases []string
}

// Peek reads as much of a dump as it takes to tell whether it is schema or data.
// It finds no faults in the dump but those that keep it from being read.
func Peek(path string) (Head, error) {
	r, err := Open(path)
	if err != nil {
		return Head{}, err
	}
	h, err := peek(r, path)
	return h, errors.Join(err, r.Close())
}

func peek(r io.Reader, file string) (Head, error) {
	f := newFeed(io.LimitReader(r, PeekLimit), file, peekBuffer, func([]byte) error { return nil })
	var h Head
	var s Summary
	for !h.Schema && !h.Data {
		err := f.next()
		var fault *Error
		switch {
		case err == io.EOF:
			return h.with(s), nil
		case errors.As(err, &fault) && fault.Line == 0, err != nil && fault == nil:
			return h.with(s), err // not readable
		case err != nil && !f.lex.within:
			return h.with(s), nil
		}
		h.Schema = read(f.beginning()).kind == kindSchema
		h.Data = read(f.beginning()).kind == kindData
		if s.add(f) != nil || err != nil {
			break
		}
	}
	return h.with(s), nil
}

func (h Head) with(s Summary) Head {
	h.NeedsDatabase, h.Databases = s.NeedsDatabase, s.Databases
	return h
}
