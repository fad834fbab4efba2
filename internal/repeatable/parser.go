package repeatable

import (
	"bytes"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Bits of sql_mode.
const (
	ansiQuotes         = 1 << 2
	noBackslashEscapes = 1 << 20
	mssql              = 1 << 10 // MariaDB's
	noAutoCreateUser   = 1 << 28 // MariaDB's
)

// parser reads a statement's grammar off its lexer. Its methods that begin with "eat" move on
// if the next tokens are what they look for, and say so.
type parser struct {
	lexer
	// fraction says that the event has the fraction of the second at which the statement began, if
	// it matters.
	fraction bool
}

func newParser(q *binlog.Query, mysql bool) parser {
	// An event that is written behind its statement has the fraction if the statement used it.
	p := parser{fraction: q.Fraction || q.Alter != binlog.AlterStarts, lexer: lexer{
		sql: q.SQL, mysql: mysql,
		ansi: q.SQLMode&ansiQuotes != 0, verbatim: q.SQLMode&noBackslashEscapes != 0,
		brackets: !mysql && q.SQLMode&mssql != 0,
	}}
	p.next()
	return p
}

// is compares an unquoted word, given in lower case. Words separated by "|" are alternatives.
func (p *parser) is(words string) bool {
	if p.tok.kind != tokenWord {
		return false
	}
	for more := true; more; {
		var word string
		word, words, more = strings.Cut(words, "|")
		if same(p.tok.text, word) {
			return true
		}
	}
	return false
}

// same compares without regard to the case of ASCII letters; word is in lower case.
func same(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

func (p *parser) eat(words string) bool {
	if !p.is(words) {
		return false
	}
	p.next()
	return true
}

// match moves over words as a pattern has them, separated by blanks: "a|b" are alternatives,
// "[a b]" may be there or not.
func (p *parser) match(pattern string) bool {
	begin := *p
	for pattern != "" {
		if pattern[0] == '[' {
			var group string
			group, pattern, _ = strings.Cut(pattern[1:], "]")
			pattern = strings.TrimPrefix(pattern, " ")
			p.match(group)
			continue
		}
		var word string
		word, pattern, _ = strings.Cut(pattern, " ")
		if !p.eat(word) {
			*p = begin
			return false
		}
	}
	return true
}

func (p *parser) symbol(c byte) bool { return p.tok.kind == tokenSymbol && p.tok.text[0] == c }

func (p *parser) eatSymbol(c byte) bool {
	if !p.symbol(c) {
		return false
	}
	p.next()
	return true
}

// end reports whether the statement ends here. A semicolon may be left of it.
func (p *parser) end() bool {
	for p.eatSymbol(';') {
	}
	return p.tok.kind == tokenEnd
}

// name moves over a name and returns it without quotes.
func (p *parser) name() (string, bool) {
	text, kind := p.tok.text, p.tok.kind
	if kind != tokenWord && kind != tokenName || len(text) == 0 {
		return "", false
	}
	if kind == tokenName {
		text = undoubled(p.sql, p.pos, text)
	}
	p.next()
	return string(text), true
}

// undoubled returns a quoted name's text with each doubled quote as one; end is behind its quote.
func undoubled(sql []byte, end int, text []byte) []byte {
	quote := sql[end-1 : end]
	if !bytes.Contains(text, quote) {
		return text
	}
	return bytes.ReplaceAll(text, append(quote[:1:1], quote...), quote)
}

// table moves over a table's name, with or without its database's.
func (p *parser) table(schema string) (Table, bool) {
	name, ok := p.name()
	if ok && p.eatSymbol('.') {
		schema = name
		name, ok = p.name()
	}
	return Table{schema, name}, ok
}

// skipParens moves over a pair of parentheses and what is in it.
func (p *parser) skipParens() bool {
	if !p.symbol('(') {
		return false
	}
	for depth := 0; ; p.next() {
		switch {
		case p.tok.kind == tokenEnd, p.tok.kind == tokenBad:
			return false
		case p.symbol('('):
			depth++
		case p.symbol(')'):
			if depth--; depth == 0 {
				p.next()
				return true
			}
		}
	}
}

// skipElement moves to the next comma or closing parenthesis that belongs to what is around it,
// to PARTITION BY, or to the end.
func (p *parser) skipElement() {
	for p.tok.kind != tokenEnd && p.tok.kind != tokenBad && !p.symbol(',') && !p.symbol(')') && !p.symbol(';') && !p.is("partition") {
		if p.symbol('(') {
			if !p.skipParens() {
				return
			}
			continue
		}
		p.next()
	}
}

// skip moves to the end.
func (p *parser) skip() {
	p.pos = len(p.sql)
	p.within = false
	p.tok = token{kind: tokenEnd}
}
