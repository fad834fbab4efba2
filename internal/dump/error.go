package dump

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxHead is how many bytes of a statement an Error shows.
const MaxHead = 200

// Error is a fault in a dump. Its text ends in a hint when there is one.
type Error struct {
	// File is the name of the dump; empty when it is not known.
	File string
	// Line counts from 1 in the decompressed text; 0 when the fault has no line.
	Line int
	// Statement is the beginning of the statement concerned, printable UTF-8 of
	// at most MaxHead bytes, or empty.
	Statement string
	// Msg says what is wrong; Hint what to do.
	Msg, Hint string

	cause error
}

// Unwrap returns what the fault comes of, nil if it is the dump's own.
func (e *Error) Unwrap() error { return e.cause }

// Error returns FILE:LINE: MSG, and the statement and the hint on lines of their
// own.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		if e.File == "" {
			b.WriteString("line ")
		} else {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(e.Line))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Statement != "" {
		b.WriteString("\n  " + printable([]byte(e.Statement)))
	}
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	return b.String()
}

// printable returns the beginning of a statement fit for one line of a terminal:
// white space folded, control and invalid bytes replaced, MaxHead bytes at most.
func printable(b []byte) string {
	var out strings.Builder
	space := false
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if r == ' ' || (r >= '\t' && r <= '\r') {
			space = true
			continue
		}
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		if out.Len()+1+utf8.RuneLen(r)+len("…") > MaxHead {
			out.WriteString("…")
			break
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return out.String()
}

// Refused returns the error for a statement of a dump that was not carried out; cause is what
// it matches, nil for nothing.
func Refused(file string, line int, text []byte, msg string, cause error) *Error {
	return &Error{File: file, Line: line, Statement: printable(text[:min(len(text), headSize)]), Msg: msg, cause: cause}
}
