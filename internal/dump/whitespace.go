package dump

import (
	"bytes"
	"fmt"
)

const nulHint = "is it text? a file in UTF-16, or one padded with zeros, has to be converted or cut first"

// skip passes over what stands between statements.
func (l *lexer) skip(buf []byte, i int, eof bool) (int, event, error) {
	for ; i < len(buf); i++ {
		c := buf[i]
		if c == '\n' {
			l.lineStart, l.versioned = true, false
			continue
		}
		if isSpace(c) {
			continue
		}
		rest := buf[i:]
		if !eof && len(rest) < lookahead {
			return i, more, nil
		}
		switch {
		case c == 0:
			return i, more, l.fail(buf, i, "there is a NUL byte outside quotes", nulHint)
		case isDelimiterCommand(rest):
			return l.delimiterCommand(buf, i, eof)
		case bytes.HasPrefix(rest, l.delim): // an empty statement
			i += len(l.delim) - 1
			l.lineStart, l.sandboxed = false, false
			continue
		case c == '#' || (c == '-' && at(rest, 1) == '-'):
			return l.lineComment(buf, i)
		case opensBlock(rest):
			l.lineStart = false
			l.enter(inBlock, i)
			return i + 2, again, nil
		case sandboxLength(rest) > 0:
			l.lineStart, l.sandboxed = false, true
			i += sandboxLength(rest) - 1
			continue
		}
		if is, err := l.noticeAt(buf, i); is {
			return i, again, err
		}
		if name := clientCommand(rest, l.delim); name != "" {
			return i, more, l.fail(buf, i, fmt.Sprintf("client command %q is not executed in dumps", name), commandHint(name))
		}
		l.state, l.within, l.lineStart = inStatement, true, false
		return i, started, nil
	}
	return i, more, nil
}

// lineComment enters the comment at buf[i], of which a lookahead is seen.
func (l *lexer) lineComment(buf []byte, i int) (int, event, error) {
	if err := l.origin.note(buf[i:], func() int { return l.lineAt(buf, i) }); err != nil {
		return i, more, err
	}
	l.enter(inLine, i)
	return i, again, nil
}

// toLineEnd passes over the rest of a line, except its newline.
func (l *lexer) toLineEnd(buf []byte, i int) (int, event) {
	n := bytes.IndexByte(buf[i:], '\n')
	if n < 0 {
		return len(buf), more
	}
	l.leave()
	return i + n, again
}

// opensBlock says that b begins with /* and the comment is not code.
func opensBlock(b []byte) bool {
	return at(b, 0) == '/' && at(b, 1) == '*' && at(b, 2) != '!' && (at(b, 2) != 'M' || at(b, 3) != '!')
}

// block passes over a comment. Its end is where the client sees it: a /* inside
// takes its star along, and a /*! inside swallows one end.
func (l *lexer) block(buf []byte, i int, eof bool) (int, event) {
	for ; i < len(buf); i++ {
		c := buf[i]
		if c == '\n' {
			l.versioned = false
		}
		if c != '*' && c != '/' {
			continue
		}
		rest := buf[i:]
		if !eof && len(rest) < len("/*M!") {
			return i, more
		}
		switch {
		case c == '/' && opensBlock(rest):
			i++
		case c == '/' && at(rest, 1) == '*' && at(rest, 2) == '!':
			l.versioned = true
		case c == '*' && at(rest, 1) == '/' && l.versioned:
			l.versioned = false
		case c == '*' && at(rest, 1) == '/':
			l.leave()
			return i + 2, again
		}
	}
	return i, more
}
