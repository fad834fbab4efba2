package dump

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
)

const (
	// MaxStatement is the size in bytes of the largest statement that is held
	// whole: that of the largest packet a server takes.
	MaxStatement = 1 << 30
	// minBuffer leaves room for a DELIMITER line, and for a whole head and the
	// lookahead behind it: a statement that fills it has its head in full.
	minBuffer = 2048
	// maxEmptyReads is how often a source may give nothing before it is given up.
	maxEmptyReads = 100
)

// fill reads more behind what is there and makes room first if need be.
func (f *splitter) fill() error {
	if f.end == len(f.buf) {
		if err := f.makeRoom(); err != nil {
			return err
		}
	}
	err := f.read()
	if errors.Is(err, io.EOF) {
		f.eof = true
		return nil
	}
	if err != nil {
		var fault *Error
		if errors.As(err, &fault) {
			return err
		}
		return fmt.Errorf("read dump: %w", err)
	}
	if f.sink != nil && f.safe()-f.sent > len(f.buf)/2 {
		return f.send(f.safe())
	}
	return nil
}

// read reads once, and again as long as the source gives neither bytes nor an
// error.
func (f *splitter) read() error {
	for range maxEmptyReads {
		n, err := f.src.Read(f.buf[f.end:])
		if n > 0 || err != nil {
			f.end += n
			if n > 0 {
				f.tail = f.buf[f.end-1]
			}
			return err
		}
	}
	return io.ErrNoProgress
}

// lines counts the lines that went by, one without its newline included.
func (f *splitter) lines() int {
	if f.tail == '\n' || f.lex.offset == 0 {
		return f.lex.line - 1
	}
	return f.lex.line
}

// safe is up to where the buffer can be passed on: all but an open statement.
func (f *splitter) safe() int {
	if f.lex.within && !f.spilled {
		return f.start
	}
	return f.at
}

// send passes the buffer on up to buf[to].
func (f *splitter) send(to int) error {
	if err := f.sink(f.buf[f.sent:to]); err != nil {
		return fmt.Errorf("send dump: %w", err)
	}
	f.sent = to
	return nil
}

// makeRoom drops what is done with from the front of a full buffer. When an open
// statement fills it, the buffer grows, or the statement is passed on in pieces.
func (f *splitter) makeRoom() error {
	keep := f.safe()
	if keep == 0 && f.sink == nil {
		if len(f.buf) >= MaxStatement {
			return f.blame(&Error{Line: f.line, Msg: fmt.Sprintf("the statement is larger than %d bytes", MaxStatement),
				Hint: "is a delimiter or a quote missing there?"})
		}
		grown := make([]byte, 2*len(f.buf))
		f.end = copy(grown, f.buf[:f.end])
		f.buf, f.text = grown, nil
		if len(grown) > maxHeld {
			debug.FreeOSMemory() // what was outgrown, before the new one fills
		}
		return nil
	}
	if keep == 0 {
		f.head = append(f.head[:0], f.beginning()...)
		f.spilled = true
		keep = f.at
	}
	if f.spilled && f.lex.within && visible(f.buf[f.start:keep]) > 0 {
		f.shows = true
	}
	if f.sink != nil {
		if err := f.send(keep); err != nil {
			return err
		}
	}
	f.end = copy(f.buf, f.buf[keep:f.end])
	f.at -= keep
	f.sent = 0
	f.start = max(f.start-keep, 0)
	return nil
}
