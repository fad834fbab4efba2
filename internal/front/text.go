package front

import "strings"

// comments divides a text into the comments with which it begins, white space included, and the rest. What a server
// executes, /*! and /*M!, is no comment.
func comments(text string) (before, rest string) {
	at := 0
	for {
		trimmed := strings.TrimLeft(text[at:], " \t\r\n")
		at = len(text) - len(trimmed)
		n := comment(trimmed)
		if n == 0 {
			return text[:at], text[at:]
		}
		at += n
	}
}

// comment is how long the comment is with which a text begins, 0 where it begins with none.
func comment(text string) int {
	switch {
	case strings.HasPrefix(text, "/*") && !strings.HasPrefix(text, "/*!") && !strings.HasPrefix(text, "/*M!"):
		return through(text, 2, "*/")
	case strings.HasPrefix(text, "#"), text == "--", strings.HasPrefix(text, "--") && strings.ContainsAny(text[2:3], " \t\r\n"):
		return through(text, 1, "\n")
	}
	return 0
}

// uncommented is a statement without the comments in it and behind it.
func uncommented(text string) string {
	var out strings.Builder
	from := 0
	for at := 0; at < len(text); {
		n := strings.IndexAny(text[at:], "'\"`/-#")
		if n < 0 {
			break
		}
		at += n
		switch text[at] {
		case '\'', '"', '`':
			at = quoted(text, at)
			continue
		}
		if n = comment(text[at:]); n == 0 {
			at++
			continue
		}
		out.WriteString(text[from:at] + " ")
		at += n
		from = at
	}
	return out.String() + text[from:]
}

// through is where a text goes on behind the next end, from at on.
func through(text string, at int, end string) int {
	if i := strings.Index(text[at:], end); i >= 0 {
		return at + i + len(end)
	}
	return len(text)
}

// first divides a text into its first statement, without the semicolon, and those after it.
func first(text string) (statement, rest string) {
	for at := 0; at < len(text); {
		n := strings.IndexAny(text[at:], ";'\"`/-#")
		if n < 0 {
			break
		}
		at += n
		switch text[at] {
		case ';':
			return text[:at], text[at+1:]
		case '\'', '"', '`':
			at = quoted(text, at)
		default:
			at += max(1, comment(text[at:]))
		}
	}
	return text, ""
}

// quoted is where a text goes on behind the quotes that begin at at. A doubled quote ends them, and begins the next.
func quoted(text string, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch {
		case text[at] == quote:
			return at + 1
		case text[at] == '\\' && quote != '`':
			at++
		}
	}
	return len(text)
}

// textAt is where the text begins in a command that has one. A client that can send attributes of a query sends, before it,
// how many there are, and how many sets of them, and then what they are.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html
func textAt(payload []byte, counts bool) int {
	if payload[0] != comQuery || !counts {
		return 1
	}
	f := fields{b: payload[1:]}
	n := int(f.length())
	f.length()
	if n > 0 {
		f.attributes(n)
	}
	return len(payload) - len(f.b)
}

// attributes are n values with their types and names, as those of a prepared statement.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html
func (f *fields) attributes(n int) {
	null := f.take((n + 7) / 8)
	f.take(1) // types follow
	types := make([]byte, 0, len(null)*8)
	for range n {
		types = append(types, byte(f.uint(2)))
		f.counted() // its name
		if f.bad {
			return
		}
	}
	for i, kind := range types {
		if null[i/8]&(1<<(i%8)) == 0 {
			f.value(kind)
		}
	}
}

// Lengths of values by their types; those of other types stand before them.
// https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
var valueBytes = map[byte]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 6: 0, 8: 8, 9: 4, 13: 2}

func (f *fields) value(kind byte) {
	if n, fixed := valueBytes[kind]; fixed {
		f.take(n)
		return
	}
	f.counted()
}
