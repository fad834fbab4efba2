package progress

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain shows what a terminal would obey instead of showing it: control characters other than
// newline and tab, and bytes that are no UTF-8, are written as \x1b and the like. Names and
// texts of a dump, or of a server that loaded one, can hold anything.
func Plain(s string) string {
	if strings.IndexFunc(s, obeyed) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case obeyed(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case obeyed(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// obeyed are control characters, those that change the direction of writing, and what is no text.
func obeyed(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// PlainWriter writes to w what Plain makes of it. Carriage returns stay: logs of servers
// have them.
func PlainWriter(w io.Writer) io.Writer { return plainWriter{w} }

type plainWriter struct{ w io.Writer }

func (p plainWriter) Write(b []byte) (int, error) {
	parts := strings.Split(string(b), "\r")
	for i := range parts {
		parts[i] = Plain(parts[i])
	}
	if _, err := io.WriteString(p.w, strings.Join(parts, "\r")); err != nil {
		return 0, err
	}
	return len(b), nil
}
