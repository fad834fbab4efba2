package dump

// endsLine says that nothing but the end of a line, or of the input, comes next.
func endsLine(b []byte) bool {
	return len(b) == 0 || b[0] == '\n' || b[0] == '\r' && (len(b) == 1 || b[1] == '\n')
}

// joined returns a statement without the backslashes that end its lines outside of quotes and comments.
func (l *lexer) joined(text []byte) []byte {
	q := newLexer()
	q.session.now = l.session.now
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		c, rest := text[i], text[i:]
		switch {
		case c == '\'' || c == '"' || c == '`':
			q.quote = c
			i, _ = q.quoted(text, i+1, true)
		case c == '#', c == '-' && at(rest, 1) == '-' && (len(rest) == 2 || isSpace(rest[2])):
			i += lineLength(rest)
		case opensBlock(rest):
			i, _ = q.block(text, i+2, true)
		case c == '\\' && endsLine(rest[1:]):
			out = append(out, text[from:i]...)
			i++
			from = i
		default:
			i++
		}
	}
	return append(out, text[from:]...)
}
