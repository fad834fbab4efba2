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
func Peek(r io.Reader, file string) (Head, error) {
	f := newSplitter(io.LimitReader(r, PeekLimit), file, peekBuffer, func([]byte) error { return nil })
	var h Head
	var s Summary
	for over := false; !over && !h.Schema && !h.Data; {
		err := f.next()
		if unreadable(err) {
			return h, err
		}
		// A statement that the limit cuts, or that has a fault, tells by its beginning.
		if err == nil || f.lex.within {
			a := read(f.beginning())
			h.Schema, h.Data = a.kind == kindSchema, a.kind == kindData
			err = errors.Join(err, s.add(f))
		}
		over = err != nil // the end, or a fault that Check will find again
	}
	h.NeedsDatabase, h.Databases = s.NeedsDatabase, s.Databases
	return h, nil
}

// unreadable tells the faults of the file from those of what is in it.
func unreadable(err error) bool {
	if err == nil || errors.Is(err, io.EOF) {
		return false
	}
	var fault *Error
	return !errors.As(err, &fault) || fault.Line == 0
}
