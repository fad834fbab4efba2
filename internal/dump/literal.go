package dump

import "strings"

func spaces(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// literalRow returns the length of the row that b begins with, (1,'a',NULL), if it is made of
// literals: what they mean does not depend on other rows, on the time, or on the session beyond
// its settings.
func literalRow(b []byte, m modes) (int, rowState) {
	i := 1
	for {
		i = spaces(b, i)
		n, what := literal(b[i:], m)
		if what != rowWhole {
			return 0, what
		}
		if i = spaces(b, i+n); i == len(b) {
			return 0, rowShort
		}
		switch b[i] {
		case ',':
			i++
		case ')':
			return i + 1, rowWhole
		default:
			return 0, rowOdd
		}
	}
}

// literal returns the length of the literal that b begins with. One that reaches the end of b
// may be longer.
func literal(b []byte, m modes) (int, rowState) {
	if len(b) == 0 {
		return 0, rowShort
	}
	c := b[0]
	switch {
	case c >= '0' && c <= '9' || c == '.':
		return number(b, 0)
	case c == '\'':
		return textLiteral(b, 0, m)
	case c == '"' && !m.has(ansiQuotes):
		return textLiteral(b, 0, m)
	case (c == '-' || c == '+') && len(b) == 1:
		return 0, rowShort
	case (c == '-' || c == '+') && (b[1] >= '0' && b[1] <= '9' || b[1] == '.'):
		return number(b, 1)
	case !isLetter(c) && c != '_':
		return 0, rowOdd
	}
	n := 1
	for n < len(b) && isWordByte(b[n]) {
		n++
	}
	if n == len(b) {
		return 0, rowShort
	}
	word := b[:n]
	if len(word) >= 4 && (equalFold(word, "NULL") || equalFold(word, "TRUE") || equalFold(word, "FALSE") || equalFold(word, "DEFAULT")) {
		return n, rowWhole
	}
	switch {
	case c == '_': // a character set, and a string in it or its bytes
		n = spaces(b, n)
		switch {
		case n == len(b):
			return 0, rowShort
		case b[n] == '0':
			return number(b, n)
		case b[n] == 'x' || b[n] == 'X':
			n++
		}
	case len(word) == 1 && strings.IndexByte("xXbBnN", c) >= 0:
	default:
		return 0, rowOdd
	}
	switch at(b, n) {
	case '\'':
		return textLiteral(b, n, m)
	case 0:
		if n == len(b) {
			return 0, rowShort
		}
	}
	return 0, rowOdd
}

// equalFold compares with a word in upper case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if c&^0x20 != word[i] {
			return false
		}
	}
	return true
}

// textLiteral passes over the string at b[i], and those that follow and belong to it.
func textLiteral(b []byte, i int, m modes) (int, rowState) {
	for {
		quote := b[i]
		i++
		for {
			n := m.indexQuote(b[i:], quote, !m.has(noBackslashEscapes))
			if n < 0 {
				return 0, rowShort
			}
			i += n + 1
			if b[i-1] == quote {
				break
			}
			i++ // what was escaped
			if i > len(b) {
				return 0, rowShort
			}
		}
		next := spaces(b, i)
		switch {
		case next == len(b):
			return 0, rowShort
		case b[next] != '\'' && (b[next] != '"' || m.has(ansiQuotes)):
			return i, rowWhole
		}
		i = next
	}
}

// number passes over the number at b[i].
func number(b []byte, i int) (int, rowState) {
	if b[i] == '0' && i+1 < len(b) && (b[i+1] == 'x' || b[i+1] == 'b') {
		for i += 2; i < len(b) && (isLetter(b[i]) && b[i]|0x20 <= 'f' || b[i] >= '0' && b[i] <= '9'); {
			i++
		}
	} else {
		for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.') {
			i++
		}
		if i < len(b) && b[i]|0x20 == 'e' {
			if i++; i < len(b) && (b[i] == '-' || b[i] == '+') {
				i++
			}
			for i < len(b) && b[i] >= '0' && b[i] <= '9' {
				i++
			}
		}
	}
	switch {
	case i == len(b):
		return 0, rowShort
	case isWordByte(b[i]):
		return 0, rowOdd
	}
	return i, rowWhole
}
