package dump

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// statement passes over a statement up to its delimiter. The order of the
// cases is the client's.
func (l *lexer) statement(buf []byte, i int, eof bool) (int, event, error) {
	for {
		for i < len(buf) && !l.special[buf[i]] {
			i++
		}
		if i == len(buf) {
			return i, more, nil
		}
		c := buf[i]
		if c == '\'' || c == '"' || c == '`' {
			l.quote = c
			l.enter(inQuotes, i)
			var ev event
			if i, ev = l.quoted(buf, i+1, eof); ev != again {
				return i, ev, nil
			}
			continue
		}
		if c == '\n' {
			l.versioned = false
			i++
			continue
		}
		rest := buf[i:]
		if !eof && len(rest) < lookahead {
			return i, more, nil
		}
		switch {
		case c == 0:
			return i, more, l.fail(buf, i, "there is a NUL byte outside quotes", nulHint)
		case c == '\\' && at(rest, 1) == 'N': // NULL in old dumps
			i += 2
		case c == '\\' && endsLine(rest[1:]):
			l.continued = true
			i++
		case c == '\\':
			name := printable(rest[:min(2, len(rest))])
			return i, more, l.fail(buf, i, `client command "`+name+`" is not executed in dumps`, commandHint(name))
		case bytes.HasPrefix(rest, l.delim):
			l.state, l.within, l.sandboxed = inWhitespace, false, false
			return i + len(l.delim), ended, nil
		case c == '#', c == '-' && at(rest, 1) == '-' && (len(rest) == 2 || isSpace(rest[2])):
			return l.lineComment(buf, i)
		case opensBlock(rest):
			l.enter(inBlock, i)
			return i + 2, again, nil
		case c == '/' && at(rest, 1) == '*' && at(rest, 2) == '!':
			l.versioned = true
			i++
		case c == '*' && at(rest, 1) == '/':
			l.versioned = false
			i++
		default:
			i++
		}
	}
}

// quoted passes over a string or quoted name, its end included. A doubled quote
// is an end and a beginning, which comes to the same.
func (l *lexer) quoted(buf []byte, i int, eof bool) (int, event) {
	escapes := l.quote == '\'' && !l.session.now.has(noBackslashEscapes) ||
		l.quote == '"' && !l.session.now.has(noBackslashEscapes) && !l.session.now.has(ansiQuotes)
	from := i
	for {
		n := l.session.now.indexQuote(buf[i:], l.quote, escapes)
		if n < 0 {
			if rest := buf[i:]; !eof && l.session.now.half(rest) {
				i = len(buf) - 1 // the other byte of that character is not here yet
			} else {
				i = len(buf)
			}
			break
		}
		i += n
		if buf[i] == l.quote {
			l.leave()
			l.newlineIn(buf[from:i])
			return i + 1, again
		}
		if i+1 == len(buf) && !eof {
			break // the escaped byte is not here yet
		}
		i = min(i+2, len(buf))
	}
	l.newlineIn(buf[from:i])
	return i, more
}

// newlineIn ends the client's idea of a versioned comment with the line.
func (l *lexer) newlineIn(b []byte) {
	if l.versioned && bytes.IndexByte(b, '\n') >= 0 {
		l.versioned = false
	}
}

// indexQuote returns the index of the first quote, or backslash if those escape,
// or -1. It looks at eight bytes at once: in (x-low) &^ x the high bit of the
// first zero byte of x is set, and of no byte before it.
// See "Determine if a word has a zero byte" in
// https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord
func indexQuote(b []byte, quote byte, escapes bool) int {
	if !escapes {
		return bytes.IndexByte(b, quote)
	}
	const low, high = 0x0101010101010101, 0x8080808080808080
	quotes, i := low*uint64(quote), 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^quotes, w^(low*'\\')
		if m := ((q-low)&^q | (s-low)&^s) & high; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == quote || b[i] == '\\' {
			return i
		}
	}
	return -1
}
