package dump

import (
	"bytes"
	"errors"
	"io"
)

// Options are the settings of Check.
type Options struct {
	// File names the dump in errors.
	File string
	// Buffer is how many bytes are held at once; 0 means DefaultBuffer. A statement
	// that fits is passed on only when it is whole.
	Buffer int
}

// Check passes a dump from src on to dst, unchanged, and checks it on the way. It
// returns an *Error for a client command, for an input that ends in the middle of
// something, and for a mysqldump without its last line. The statement at fault,
// and a statement that is not whole, is not passed on, unless it is larger than
// the buffer: a caller that feeds a client should therefore kill it after an
// error before closing its input, because at the end of its input the client
// runs what it has. dst may be io.Discard.
func Check(dst io.Writer, src io.Reader, opts Options) (Summary, error) {
	f := newSplitter(src, opts.File, opts.Buffer, func(b []byte) error {
		_, err := dst.Write(b)
		return err
	})
	var s Summary
	for {
		err := f.next()
		if errors.Is(err, io.EOF) {
			s.Bytes, s.Lines = f.lex.offset, f.lines()
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if err := s.add(f); err != nil {
			return s, f.blame(err)
		}
	}
}

// useWithoutEnd says that head is a USE line whose delimiter is missing: typed
// at a prompt it works, in a dump it swallows the next statement.
func useWithoutEnd(head []byte) bool {
	t := tokens{b: head}
	if !t.next().is("use") || !t.next().isName() {
		return false
	}
	n := bytes.IndexByte(t.b, '\n')
	return n >= 0 && (&tokens{b: t.b[:n]}).ends() && !t.ends()
}
