package repeatable

import "bytes"

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // a keyword, a name without quotes, a number
	tokenName             // a quoted name
	tokenString           // a string
	tokenSymbol           // any other byte
	tokenBad              // what this lexer does not understand, to the end
)

// token is a piece of a statement. The text of a quoted one is without its quotes, but with what
// is doubled or escaped in it.
type token struct {
	kind tokenKind
	text []byte
}

// lexer reads a statement piece by piece, as far as its parser wants it: the bodies of routines
// are never read. What is inside of a conditional comment is part of the statement: servers write
// those that they have skipped as plain comments into the log.
type lexer struct {
	sql []byte
	pos int
	tok token
	// within says that a conditional comment is open.
	within bool

	mysql bool
	// ansi and verbatim are the sql_mode's ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
	ansi, verbatim bool
	// brackets says that they may quote names, as in sql_mode MSSQL.
	brackets bool
}

// next moves to the next token.
func (l *lexer) next() {
	if !l.blank() {
		l.bad()
		return
	}
	if l.pos >= len(l.sql) {
		l.tok = token{kind: tokenEnd}
		if l.within {
			l.bad()
		}
		return
	}
	switch c := l.sql[l.pos]; {
	case c == '`' || c == '"' || c == '\'':
		l.quoted(c)
	case isWord(c):
		begin := l.pos
		for l.pos < len(l.sql) && isWord(l.sql[l.pos]) {
			l.pos++
		}
		l.tok = token{tokenWord, l.sql[begin:l.pos]}
	case c < ' ', c == '[' && l.brackets:
		l.bad()
	default:
		l.tok = token{tokenSymbol, l.sql[l.pos : l.pos+1]}
		l.pos++
	}
}

// bad ends the statement: nothing of it is understood from here on.
func (l *lexer) bad() {
	l.pos = len(l.sql)
	l.within = false
	l.tok = token{kind: tokenBad}
}

// quoted reads a string or a quoted name.
func (l *lexer) quoted(quote byte) {
	kind := tokenString
	if quote == '`' || quote == '"' && l.ansi {
		kind = tokenName
	}
	begin := l.pos + 1
	for i := begin; i < len(l.sql); i++ {
		switch c := l.sql[i]; {
		case c == '\\' && kind == tokenString && !l.verbatim:
			i++
		case c != quote:
		case i+1 < len(l.sql) && l.sql[i+1] == quote:
			i++
		default:
			l.pos = i + 1
			l.tok = token{kind, l.sql[begin:i]}
			return
		}
	}
	l.bad()
}

// blank skips white space and comments. It reports false at one that it does not understand.
func (l *lexer) blank() bool {
	for l.pos < len(l.sql) {
		rest := l.sql[l.pos:]
		switch c := rest[0]; {
		case isSpace(c):
			l.pos++
		case c == '#', c == '-' && len(rest) > 1 && rest[1] == '-' && (len(rest) == 2 || rest[2] <= ' '):
			for l.pos < len(l.sql) && l.sql[l.pos] != '\n' {
				l.pos++
			}
		case c == '/' && len(rest) > 1 && rest[1] == '*':
			if !l.comment(rest[2:]) {
				return false
			}
		case c == '*' && l.within && len(rest) > 1 && rest[1] == '/':
			l.within = false
			l.pos += 2
		default:
			return true
		}
	}
	return true
}

// comment enters a conditional comment, or skips a plain one; b is what is behind its "/*".
func (l *lexer) comment(b []byte) bool {
	var mark int
	switch {
	case len(b) > 0 && b[0] == '!':
		mark = 1
	case !l.mysql && len(b) > 1 && b[0] == 'M' && b[1] == '!':
		mark = 2
	default:
		end := bytes.Index(b, []byte("*/"))
		if end < 0 {
			return false
		}
		l.pos += 2 + end + 2
		return true
	}
	version, digits := 0, 0
	for i := mark; i < len(b) && digits < 6 && b[i] >= '0' && b[i] <= '9'; i++ {
		version = version*10 + int(b[i]-'0')
		digits++
	}
	if digits < 5 {
		version, digits = 0, 0
	}
	l.within = true
	l.pos += 2 + mark + digits
	return l.taken(version, mark == 2)
}

// taken reports whether a server that Ramaria runs takes what is in a conditional comment of that
// version. If not, it is not in the log: servers write a blank over the exclamation mark.
func (l *lexer) taken(version int, maria bool) bool {
	if l.mysql {
		return version < 100_000
	}
	// MariaDB skips what only newer releases of MySQL know.
	return maria || version < 50_700 || version > 99_999
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
