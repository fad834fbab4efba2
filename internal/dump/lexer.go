package dump

import "bytes"

// lookahead is how many bytes the lexer wants to see from a byte that may begin
// something, unless the input ends before; the longest is what an Error shows.
const lookahead = MaxHead

// state is what the next byte is part of.
type state uint8

const (
	inWhitespace state = iota // white space and comments between statements
	inStatement               // a statement, outside quotes and comments
	inQuotes                  // a string or quoted name; lexer.quote says which
	inLine                    // a comment to the end of the line
	inBlock                   // a /* */ comment that is not versioned
	inCommand                 // the rest of a DELIMITER line
)

// event is what one step of the lexer ended with.
type event uint8

const (
	again   event = iota // within the lexer only: the state changed, go on
	more                 // all that can be told from these bytes was told
	started              // a statement starts at the next byte
	ended                // a statement ended; its delimiter was the last that was consumed
)

// lexer splits a dump into statements as the mariadb client does. It holds no
// bytes: its owner gives it a buffer of them, and it answers how many it
// consumed. It can stop at any byte and go on when there are more, so that the
// result does not depend on how the input was cut into buffers.
type lexer struct {
	state  state
	within bool // a statement is open: comments lead back to it
	quote  byte // with inQuotes: the byte that ends it

	// versioned is the client's ss_comment: a /*! was seen on this line and not
	// closed. It changes where comments inside it end.
	versioned bool
	// lineStart says that only white space came so far in this line: DELIMITER is
	// recognised nowhere else.
	lineStart bool
	// sandboxed says that a sandbox command came, which leaves its comment in the client's
	// buffer, so that DELIMITER is not obeyed behind it.
	sandboxed bool
	// continued says that a line of the statement ends in a backslash outside of quotes, which the client leaves out.
	continued bool

	delim     []byte
	delimiter string // the same as delim
	// special marks the bytes that may end a run of plain code.
	special [256]bool

	session session
	origin  origin
	runs    Runs // nil for a server that is not known
	// notices are lines that the dumper said, the first of them.
	notices []string

	line   int   // of the next byte, from 1
	offset int64 // of the next byte, from 0

	// open is where in the current buffer the present string or comment began;
	// once it leaves the buffer, openLine is its line instead.
	open, openLine int
}

func newLexer() lexer {
	l := lexer{lineStart: true, line: 1}
	l.setDelimiter(";")
	return l
}

func (l *lexer) setDelimiter(d string) {
	l.delimiter, l.delim = d, []byte(d)
	l.special = [256]bool{}
	for _, c := range []byte("\x00\n'\"`\\#-/*") {
		l.special[c] = true
	}
	l.special[d[0]] = true
}

// step consumes bytes from the front of buf up to the next event and returns how
// many. With the event more it may leave a few bytes unconsumed; it then wants
// them again with others behind. eof says that none will come. An error is an
// *Error with its line.
func (l *lexer) step(buf []byte, eof bool) (int, event, error) {
	i, ev, err := 0, again, error(nil)
	for ev == again && err == nil {
		switch l.state {
		case inWhitespace:
			i, ev, err = l.skip(buf, i, eof)
		case inStatement:
			i, ev, err = l.statement(buf, i, eof)
		case inQuotes:
			i, ev = l.quoted(buf, i, eof)
		case inBlock:
			i, ev = l.block(buf, i, eof)
		case inLine, inCommand:
			i, ev = l.toLineEnd(buf, i)
		}
	}
	if (l.state == inQuotes || l.state == inBlock) && l.openLine == 0 {
		l.openLine = l.lineAt(buf, l.open)
	}
	l.line = l.lineAt(buf, i)
	l.offset += int64(i)
	return i, ev, err
}

// lineAt returns the line of buf[i] during a step.
func (l *lexer) lineAt(buf []byte, i int) int {
	return l.line + bytes.Count(buf[:i], []byte{'\n'})
}

func (l *lexer) fail(buf []byte, i int, msg, hint string) error {
	return &Error{Line: l.lineAt(buf, i), Msg: msg, Hint: hint}
}

// enter begins a string or comment at buf[i].
func (l *lexer) enter(s state, i int) {
	l.state, l.open, l.openLine = s, i, 0
}

// leave goes back from a string or comment to what is around it.
func (l *lexer) leave() {
	l.state = inWhitespace
	if l.within {
		l.state = inStatement
	}
}

// unfinished returns the fault of an input that ends here, or nil.
func (l *lexer) unfinished() error {
	var what string
	switch {
	case l.state == inQuotes && l.quote == '`':
		what = "a quoted name"
	case l.state == inQuotes:
		what = "a string"
	case l.state == inBlock:
		what = "a comment"
	default:
		return nil
	}
	return &Error{Line: l.openLine, Msg: "the dump ends in the middle of " + what + " that begins in this line",
		Hint: "the file is cut short, or a quote is missing: make the dump again, or correct that line"}
}

// at returns b[i], or 0 behind the end.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

// isSpace tells what the client takes for white space: the C locale's.
func isSpace(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }
