package load

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// lookedAt is how much of the text of a table's rows is looked at, in bytes.
const lookedAt = 1 << 20

// lookAtText tells of text that will not read as it was written. It is loaded as it stands, as a client does.
func (l *loader) lookAtText(t *table, rows []byte) {
	if t.looked >= lookedAt {
		return
	}
	rows = rows[:min(len(rows), lookedAt-t.looked)]
	t.looked += len(rows)
	if !slices.ContainsFunc(rows, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return
	}
	switch client := l.facts.client; {
	case client == "latin1" && l.facts.connection == client:
		if isUTF8(rows) {
			l.fit.Unread("says that its text is latin1, and it is UTF-8: clients that ask for utf8mb4 will see two characters for one", t.name.Name)
		}
	case client == "utf8mb3" || client == "utf8":
		if slices.ContainsFunc(rows, func(c byte) bool { return c >= 0xf0 }) {
			l.fit.Unread("has characters of four bytes, such as emoji, behind SET NAMES utf8: the server stores a ? for each", t.name.Name)
		}
		fallthrough
	case client == "utf8mb4":
		if encodedTwice(rows) {
			l.fit.Unread("looks as if its text had been encoded as UTF-8 twice", t.name.Name)
		}
	}
}

// isUTF8 says that what is not ASCII is UTF-8, but for a character that is cut off at the end.
func isUTF8(b []byte) bool {
	for n := len(b); n > max(0, len(b)-utf8.UTFMax); n-- {
		if utf8.RuneStart(b[n-1]) {
			if !utf8.FullRune(b[n-1:]) {
				b = b[:n-1]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// encodedTwice looks for what the first bytes of UTF-8 become if they are taken for Windows-1252 and encoded again: of
// most letters of Europe, and of quotes and dashes.
func encodedTwice(b []byte) bool {
	for _, lead := range [][]byte{[]byte("Ã"), []byte("Â"), []byte("â€")} {
		rest := b
		for {
			i := bytes.Index(rest, lead)
			if i < 0 {
				break
			}
			rest = rest[i+len(lead):]
			// What follows is a byte from 0x80 to 0xbf, as a character: one of Latin-1 but for letters, or one that Windows-1252
			// has there.
			if r, _ := utf8.DecodeRune(rest); r >= 0x80 && r <= 0xbf && r != 0xa0 || bytes.ContainsRune([]byte("€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"), r) && r != utf8.RuneError {
				return true
			}
		}
	}
	return false
}
