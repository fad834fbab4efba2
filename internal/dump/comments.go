package dump

import "bytes"

// WithoutComments returns a statement as the client sends it: without comments, except for
// those that are code. The mode is that of the session.
func (s *Scanner) WithoutComments(text []byte) []byte {
	if bytes.IndexByte(text, '#') < 0 && !bytes.Contains(text, []byte("--")) && !bytes.Contains(text, []byte("/*")) {
		return text
	}
	var out []byte
	l := newLexer()
	l.session.now = s.f.lex.session.now
	from := 0 // of what has not been copied
	drop := func(i, to int) int {
		out = append(out, text[from:i]...)
		from = to
		return to
	}
	// A space takes the place of a comment only before certain bytes of the same line.
	space := false
	for i := 0; i < len(text); {
		c, rest := text[i], text[i:]
		switch {
		case c == '\n':
			l.versioned, space = false, false
			i++
			continue
		case c == '\\' && at(rest, 1) == 'N':
			i += 2
			continue
		case c == '#', len(rest) > 2 && c == '-' && rest[1] == '-' && isSpace(rest[2]):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i = drop(i, i+n)
			continue
		case opensBlock(rest):
			to, _ := l.block(text, i+2, true)
			i, space = drop(i, to), true
			continue
		}
		if space && !isSpace(c) {
			drop(i, i)
			out = append(out, ' ')
		}
		space = false
		switch {
		case c == '\'' || c == '"' || c == '`':
			l.quote = c
			i, _ = l.quoted(text, i+1, true)
		case c == '/' && at(rest, 1) == '*' && at(rest, 2) == '!':
			l.versioned = true
			i += 2
		case c == '*' && at(rest, 1) == '/':
			l.versioned = false
			i++
		default:
			i++
		}
	}
	return append(out, text[from:]...)
}
