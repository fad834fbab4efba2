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
		switch c := text[at]; c {
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
