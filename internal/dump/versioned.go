package dump

import "bytes"

// Runs says whether a server runs what stands in a versioned comment, and how many digits of its mark are the version: own
// is MariaDB's own mark (/*M! for /*!), digits are up to six that follow it, and spaced says that white space stands behind
// six.
type Runs func(own bool, digits string, spaced bool) (runs bool, used int)

// maxDigits is how many digits a version has at most.
const maxDigits = 6

// versionedMark is the length of the mark of a versioned comment that b begins with, 0 for none.
func versionedMark(b []byte) int {
	for _, mark := range []string{"/*!", "/*M!"} {
		if len(b) >= len(mark) && string(b[:len(mark)]) == mark {
			return len(mark)
		}
	}
	return 0
}

// reads asks for the comment that b begins with, whose mark has so many bytes.
func (r Runs) reads(b []byte, mark int) (runs bool, used int) {
	n := mark
	for n < len(b) && n < mark+maxDigits && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return r(b[2] == 'M', string(b[mark:n]), n == mark+maxDigits && isSpace(at(b, n)))
}

// For has the scanner read versioned comments as a server does. Without it all of them are code.
func (s *Scanner) For(runs Runs) { s.f.lex.runs = runs }

// Meant returns a statement as the server understands it: with spaces in place of versioned comments that it does
// not run, and of the marks of those that it does. It has as many bytes as text, and may be text itself: one that
// ends within such a comment stays as it is.
func (s *Scanner) Meant(text []byte) []byte { return s.f.lex.meant(text) }

func (l *lexer) meant(text []byte) []byte {
	if l.runs == nil || !bytes.Contains(text, []byte("/*!")) && !bytes.Contains(text, []byte("/*M!")) {
		return text
	}
	q := newLexer()
	q.session.now = l.session.now
	out := bytes.Clone(text)
	open := false // a versioned comment that runs
	for i := 0; i < len(text); {
		c, rest := text[i], text[i:]
		mark := versionedMark(rest)
		switch {
		case c == '\'' || c == '"' || c == '`':
			q.quote = c
			i, _ = q.quoted(text, i+1, true)
		case c == '#', c == '-' && at(rest, 1) == '-' && (len(rest) == 2 || isSpace(rest[2])):
			i += lineLength(rest)
		case mark > 0:
			runs, used := l.runs.reads(rest, mark)
			length := mark + used
			if !runs {
				length = commentLength(rest, mark)
			} else {
				open = true
			}
			blank(out[i : i+length])
			i += length
		case c == '/' && at(rest, 1) == '*':
			i += commentLength(rest, len("/*"))
		case c == '*' && at(rest, 1) == '/' && open:
			blank(out[i : i+2])
			open = false
			i += 2
		default:
			i++
		}
	}
	if open { // the server will tell
		return text
	}
	return out
}

// lineLength is the length of what stands in b before the end of the line.
func lineLength(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return n
	}
	return len(b)
}

// commentLength is the length of the comment that b begins with, whose mark has so many bytes.
func commentLength(b []byte, mark int) int {
	if n := bytes.Index(b[mark:], []byte("*/")); n >= 0 {
		return mark + n + len("*/")
	}
	return len(b)
}

// blank overwrites with spaces; lines stay lines.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
}
