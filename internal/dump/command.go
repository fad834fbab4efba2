package dump

import (
	"bytes"
	"fmt"
)

const (
	// maxDelimiter is how many bytes of a delimiter the client keeps.
	maxDelimiter = 15
	// maxCommand is how much of a DELIMITER line the client looks at.
	maxCommand = 255
)

var delimiterWord = []byte("delimiter")

// clientCommand returns the name of the client command that the statement text b
// begins with, or "". Those are never SQL, so that it does not matter that the
// client is choosier about what may follow them. HELP and USE are statements
// too and stay.
func clientCommand(b, delim []byte) string {
	n := 0
	for n < len(b) && n < len("nowarning")+1 && (isLetter(b[n]) || b[n] == '?') {
		n++
	}
	if n == 0 || n < len(b) && !isSpace(b[n]) && b[n] != ';' && !bytes.HasPrefix(b[n:], delim) {
		return ""
	}
	var low [16]byte
	switch string(lower(&low, b[:n])) {
	case "?", "clear", "connect", "edit", "ego", "exit", "go", "nopager", "notee", "pager", "print", "prompt",
		"quit", "rehash", "source", "status", "system", "tee", "charset", "warnings", "nowarning", "sandbox":
		return string(b[:n])
	}
	return ""
}

func commandHint(name string) string {
	switch name {
	case "source", `\.`:
		return "remove the line, and give the file that it names as a source of its own"
	case "exit", "quit", `\q`:
		return "remove the line and what follows it, or the line alone if the rest is to be loaded"
	case "charset", `\C`:
		return "remove the line; SET NAMES does the same"
	}
	return "remove the line"
}

// isDelimiterCommand says that b begins with DELIMITER. The client compares no
// further than these nine letters.
func isDelimiterCommand(b []byte) bool {
	return len(b) >= len(delimiterWord) && b[0]|0x20 == 'd' && bytes.EqualFold(b[:len(delimiterWord)], delimiterWord)
}

// delimiterCommand obeys the DELIMITER command at buf[i].
func (l *lexer) delimiterCommand(buf []byte, i int, eof bool) (int, event, error) {
	line := buf[i:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	} else if !eof && len(line) < maxCommand {
		return i, more, nil
	}
	if !l.lineStart || l.sandboxed {
		return i, more, l.fail(buf, i, "DELIMITER is not at the start of a line, where alone the client obeys it",
			"put DELIMITER on a line of its own")
	}
	d, fault := delimiterArgument(line[:min(len(line), maxCommand)])
	if fault != "" {
		return i, more, l.fail(buf, i, fault, "write DELIMITER ;; or the like")
	}
	l.setDelimiter(d)
	l.state = inCommand
	return i + len(delimiterWord), again, nil
}

// delimiterArgument returns the first word of a DELIMITER line's parameters.
func delimiterArgument(line []byte) (d, fault string) {
	n := indexSpace(line)
	if n < 0 || bytes.IndexByte(line, 0) >= 0 {
		return "", "DELIMITER is not followed by a delimiter"
	}
	arg := bytes.TrimLeft(line[n:], " \t\v\f\r")
	end := indexSpace(arg)
	if c := at(arg, 0); c == '\'' || c == '"' || c == '`' {
		arg = arg[1:]
		if end = bytes.IndexByte(arg, c); end < 0 {
			return "", "DELIMITER is followed by a quote that does not end"
		}
	}
	if end >= 0 {
		arg = arg[:end]
	}
	switch {
	case len(arg) == 0:
		return "", "DELIMITER is not followed by a delimiter"
	case len(arg) > maxDelimiter:
		return "", fmt.Sprintf("the delimiter is longer than the %d bytes that the client keeps", maxDelimiter)
	}
	for _, c := range arg {
		switch {
		case c == '\\':
			return "", "the delimiter has a backslash in it"
		case c == '\'' || c == '"' || c == '`':
			return "", "the delimiter has a quote in it"
		case c < ' ' || c > '~':
			return "", "the delimiter is not plain ASCII, and the client would not find it"
		}
	}
	return string(arg), ""
}

// indexSpace returns the index of the first white space, or -1.
func indexSpace(b []byte) int { return bytes.IndexAny(b, " \t\v\f\r\n") }

// sandboxLength returns the length of the line by which mariadb-dump keeps the
// client from obeying commands, if b begins with it, or 0.
func sandboxLength(b []byte) int {
	for _, s := range []string{`/*M!999999\- enable the sandbox mode */`, `/*!999999\- enable the sandbox mode */`} {
		if len(b) >= len(s) && string(b[:len(s)]) == s {
			return len(s)
		}
	}
	return 0
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// lower returns the lower case of an ASCII word in dst; only the beginning of one
// that is too long.
func lower(dst *[16]byte, word []byte) []byte {
	n := copy(dst[:], word)
	for i, c := range dst[:n] {
		if c >= 'A' && c <= 'Z' {
			dst[i] = c | 0x20
		}
	}
	return dst[:n]
}
