package dump

import (
	"bytes"
	"errors"
	"io"
)

const (
	// DefaultBuffer is how many bytes of a dump are held at once. The statements
	// of mysqldump are up to 1 MB (net_buffer_length) and so fit whole.
	DefaultBuffer = 2 << 20
	// headSize is how much of a statement is kept when it is not held whole.
	headSize = 1024
)

// splitter moves a dump through a buffer past the lexer. With a sink it
// passes everything on, and statements larger than the buffer in pieces; without
// one the buffer grows so that every statement is held whole.
type splitter struct {
	lex  lexer
	src  io.Reader
	sink func([]byte) error
	file string

	buf  []byte
	sent int // buf[:sent] went to the sink
	at   int // buf[sent:at] went through the lexer
	end  int // buf[at:end] was read
	eof  bool
	tail byte // the last byte that was read

	// The present statement: it starts at buf[start], or has left the buffer from
	// its front when spilled; head then holds its beginning, and shows says that
	// there was more than white space in what left.
	start          int
	spilled, shows bool
	head           []byte
	// text is the statement from start, without its delimiter, once it ended.
	text          []byte
	line, endLine int
	offset        int64
	delimiter     string

	inserts inserts
}

func newSplitter(src io.Reader, file string, size int, sink func([]byte) error) *splitter {
	if size == 0 {
		size = DefaultBuffer
	}
	return &splitter{lex: newLexer(), src: src, sink: sink, file: file, buf: make([]byte, max(size, minBuffer))}
}

// next goes on to the end of the next statement. It returns io.EOF after the
// last one, when everything was passed on.
func (f *splitter) next() error {
	if f.inserts.open {
		return f.moreRows()
	}
	f.inserts.is = false
	for {
		n, ev, err := f.lex.step(f.buf[f.at:f.end], f.eof)
		f.at += n
		if err != nil {
			return f.blame(err)
		}
		switch ev {
		case started:
			f.begin()
			if f.inserts.on {
				if is, err := f.startRows(); is || err != nil {
					f.inserts.is = is
					return err
				}
			}
		case ended:
			return f.finish(f.at-len(f.lex.delim), f.lex.delimiter)
		case more:
			if f.eof {
				return f.last()
			}
			if err := f.fill(); err != nil {
				return err
			}
		}
	}
}

func (f *splitter) begin() {
	f.start, f.spilled, f.shows = f.at, false, false
	f.lex.continued = false
	f.line, f.offset = f.lex.line, f.lex.offset
}

// finish ends the present statement at buf[to] and obeys it if it is a SET.
func (f *splitter) finish(to int, delimiter string) error {
	f.text, f.delimiter = f.buf[f.start:to], delimiter
	f.endLine = f.lex.line - bytes.Count(f.buf[to:f.at], []byte{'\n'})
	if head := f.beginning(); kindOf((&tokens{b: head}).next()) == kindSet {
		f.lex.session.set(f.lex.meant(head))
	}
	return nil
}

// last ends the input: the statement without a delimiter that may stand there is
// returned first, as the client runs it.
func (f *splitter) last() error {
	if err := f.lex.unfinished(); err != nil {
		return f.blame(err)
	}
	if err := f.lex.origin.unfinished(f.lex.line); err != nil {
		return f.blame(err)
	}
	if f.lex.within {
		f.lex.within, f.lex.state = false, inWhitespace
		f.at = f.end
		if to := visible(f.buf[f.start:f.end]); f.shows || to > 0 {
			return f.finish(f.start+to, "")
		}
	}
	if f.sink != nil {
		if err := f.send(f.end); err != nil {
			return err
		}
	}
	return io.EOF
}

// visible returns the length of b without the white space and control bytes at
// its end, such as the Ctrl-Z of DOS. The client leaves them out too.
func visible(b []byte) int {
	n := len(b)
	for n > 0 && (b[n-1] <= ' ' || b[n-1] == 0x7f) {
		n--
	}
	return n
}

// beginning returns the first bytes of the statement that ended last, or of what
// there is of the one that is open.
func (f *splitter) beginning() []byte {
	switch {
	case f.inserts.is:
		return f.inserts.head[:min(headSize, len(f.inserts.head))]
	case f.spilled:
		return f.head
	case f.lex.within:
		return f.buf[f.start:min(f.start+headSize, f.at)]
	}
	return f.text[:min(headSize, len(f.text))]
}

// blame adds the file and the statement to a fault of the lexer. What it shows
// depends on the text alone: where the lexer stopped a lookahead has been read.
func (f *splitter) blame(err error) error {
	var fault *Error
	if errors.As(err, &fault) {
		fault.File = f.file
		if f.lex.within {
			fault.Statement = printable(f.beginning())
		} else if fault.Statement == "" {
			fault.Statement = printable(f.buf[f.at:min(f.at+MaxHead, f.end)])
		}
	}
	return err
}
