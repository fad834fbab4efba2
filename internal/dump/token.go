package dump

import (
	"bytes"
	"strings"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // a keyword, unquoted name or number
	tokenName             // a name in backticks
	tokenString           // a string in either quotes
	tokenSymbol           // any other byte
)

// token is one piece of a statement; text is a part of it, without quotes.
type token struct {
	kind tokenKind
	text []byte
}

// is compares an unquoted word, given in lower case.
func (t token) is(word string) bool {
	return t.kind == tokenWord && len(t.text) == len(word) && strings.EqualFold(string(t.text), word)
}

func (t token) symbol(c byte) bool { return t.kind == tokenSymbol && t.text[0] == c }

// name returns what the token names. A string is taken for a name too: with
// ANSI_QUOTES that is what it is.
func (t token) name() string {
	if t.kind == tokenName {
		return strings.ReplaceAll(string(t.text), "``", "`")
	}
	return string(t.text)
}

func (t token) isName() bool { return t.kind != tokenEnd && t.kind != tokenSymbol }

// tokens reads the beginning of a statement piece by piece. Versioned comments
// are read as the code that they hold, except that of version 999999, which no
// server runs. A token that is cut off at the end counts as the end.
type tokens struct {
	b         []byte
	versioned bool
}

func (t *tokens) next() token {
	t.space()
	if len(t.b) == 0 {
		return token{}
	}
	c := t.b[0]
	switch {
	case c == '\'' || c == '"' || c == '`':
		return t.quoted(c)
	case isWordByte(c):
		n := 1
		for n < len(t.b) && isWordByte(t.b[n]) {
			n++
		}
		return t.take(tokenWord, n)
	}
	return t.take(tokenSymbol, 1)
}

func (t *tokens) take(kind tokenKind, n int) token {
	tok := token{kind, t.b[:n]}
	t.b = t.b[n:]
	return tok
}

func (t *tokens) quoted(c byte) token {
	kind := tokenString
	if c == '`' {
		kind = tokenName
	}
	for i := 1; i < len(t.b); i++ {
		switch {
		case t.b[i] == '\\' && c != '`':
			i++
		case t.b[i] == c && at(t.b, i+1) == c:
			i++
		case t.b[i] == c:
			tok := token{kind, t.b[1:i]}
			t.b = t.b[i+1:]
			return tok
		}
	}
	t.b = nil
	return token{}
}

// space drops white space, comments, and the marks of versioned comments.
func (t *tokens) space() {
	for len(t.b) > 0 {
		c := t.b[0]
		switch {
		case isSpace(c):
			t.b = t.b[1:]
		case c == '#', c == '-' && at(t.b, 1) == '-' && (len(t.b) == 2 || isSpace(t.b[2])):
			t.drop([]byte{'\n'})
		case opensBlock(t.b):
			t.b = t.b[2:]
			t.drop([]byte("*/"))
		case c == '/' && at(t.b, 1) == '*':
			t.open()
		case c == '*' && at(t.b, 1) == '/' && t.versioned:
			t.versioned = false
			t.b = t.b[2:]
		default:
			return
		}
	}
}

func (t *tokens) open() {
	n := bytes.IndexByte(t.b, '!') + 1
	digits := n
	for n < len(t.b) && t.b[n] >= '0' && t.b[n] <= '9' {
		n++
	}
	never := string(t.b[digits:n]) == "999999"
	t.b, t.versioned = t.b[n:], true
	if never {
		t.drop([]byte("*/"))
		t.versioned = false
	}
}

// drop passes over the bytes up to and including end.
func (t *tokens) drop(end []byte) {
	n := bytes.Index(t.b, end)
	if n < 0 {
		t.b = nil
		return
	}
	t.b = t.b[n+len(end):]
}

// isWordByte tells the bytes of unquoted names; all of UTF-8 is allowed in them.
func isWordByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
