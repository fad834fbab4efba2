package dump

import (
	"bytes"
	"strconv"
	"strings"
)

// modes is the part of sql_mode that changes where strings end, and the character set of the
// client where that does. The bits of sql_mode are those of the server's own numbers, which
// SET sql_mode also takes.
type modes uint32

const (
	ansiQuotes         modes = 1 << 2
	noBackslashEscapes modes = 1 << 20

	// These are character sets in which the second byte of a character may look like a backslash
	// or a backtick, by where their first bytes lie.
	likeSJIS modes = 1 << 29
	likeGBK  modes = 1 << 30
	likeBig5 modes = 1 << 31
	wide           = likeSJIS | likeGBK | likeBig5
)

func (m modes) has(bit modes) bool { return m&bit != 0 }

// maxSaved limits the user variables that hold an sql_mode to be put back.
const maxSaved = 64

// session follows the SET statements of a dump as far as sql_mode and character_set_client go:
// literal values, numbers, DEFAULT, user variables that an earlier SET put one of them in,
// CONCAT and REPLACE of those. Anything else leaves them as they are.
type session struct {
	now   modes
	saved map[string]modes
}

// set obeys a SET statement; head is the beginning of its text.
func (s *session) set(head []byte) {
	t := tokens{b: head}
	if !t.next().is("set") {
		return
	}
	for {
		if name, is := namesOf(&t); is {
			s.now = s.now&^wide | parseModes(name)&wide
		}
		target, ok := s.target(&t)
		if !ok {
			return
		}
		value, known, last := s.value(&t)
		switch {
		case !known:
		case target.user && (len(s.saved) < maxSaved || s.saved == nil):
			if s.saved == nil {
				s.saved = map[string]modes{}
			}
			s.saved[target.name] = value
		case !target.user && !target.global && target.name == "sql_mode":
			s.now = s.now&wide | value&^wide
		case !target.user && !target.global && target.name == "character_set_client":
			s.now = s.now&^wide | value&wide
		}
		if last {
			return
		}
	}
}

// namesOf reads NAMES and a character set, or CHARACTER SET and one, if they come next, up to what is set behind them.
func namesOf(t *tokens) (name []byte, is bool) {
	ahead := *t
	tok := ahead.next()
	if !tok.is("names") && !tok.is("charset") && (!tok.is("character") && !tok.is("char") || !ahead.next().is("set")) {
		return nil, false
	}
	name = ahead.next().text
	for {
		*t = ahead
		if tok := ahead.next(); tok.kind == tokenEnd || tok.symbol(',') {
			*t = ahead
			return name, true
		}
	}
}

// target is the left side of one assignment.
type target struct {
	name         string
	user, global bool
}

func (s *session) target(t *tokens) (target, bool) {
	var out target
	ats := 0
	for {
		tok := t.next()
		switch {
		case tok.kind == tokenEnd:
			return out, false
		case tok.symbol('='):
			out.user = ats == 1
			return out, true
		case tok.symbol('@'):
			ats++
		case tok.is("global") || tok.is("persist") || tok.is("persist_only"):
			out.global = true
		case tok.isName():
			out.name = strings.ToLower(tok.name())
		}
	}
}

// value reads the right side of an assignment. known says that it is an sql_mode
// that could be worked out, last that no assignment follows.
func (s *session) value(t *tokens) (m modes, known, last bool) {
	depth, ats, replace := 0, 0, false
	for {
		tok := t.next()
		switch {
		case tok.kind == tokenEnd:
			return m, known, true
		case tok.symbol(',') && depth == 0:
			return m, known, false
		case tok.symbol('('):
			depth++
		case tok.symbol(')'):
			depth--
		case tok.symbol('@'):
			ats++
			continue
		case tok.is("session") || tok.is("local"):
			continue
		case ats == 1:
			old, ok := s.saved[strings.ToLower(tok.name())]
			m, known = m|old, known || ok
		case tok.is("sql_mode"), tok.is("character_set_client"):
			m, known = m|s.now, true
		case tok.is("replace"):
			replace = true
		case tok.is("default"):
			known = true
		case tok.kind == tokenString && replace:
			m &^= parseModes(tok.text)
		case tok.kind == tokenString || tok.kind == tokenWord && depth == 0:
			m, known = m|parseModes(tok.text), true
		}
		if !tok.symbol('.') {
			ats = 0
		}
	}
}

// parseModes reads a list of mode names, the number that stands for one, or the name of a character set.
func parseModes(b []byte) modes {
	if n, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		return modes(n & uint64(ansiQuotes|noBackslashEscapes))
	}
	var m modes
	for _, name := range bytes.Split(b, []byte{','}) {
		switch strings.ToUpper(string(bytes.TrimSpace(name))) {
		case "NO_BACKSLASH_ESCAPES":
			m |= noBackslashEscapes
		// The last six are combinations that ANSI_QUOTES is part of.
		case "ANSI_QUOTES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL":
			m |= ansiQuotes
		case "SJIS", "CP932":
			m |= likeSJIS
		case "GBK", "GB18030":
			m |= likeGBK
		case "BIG5":
			m |= likeBig5
		}
	}
	return m
}

// leads reports whether a byte may be the first of two in a character.
func (m modes) leads(c byte) bool {
	switch {
	case m.has(likeSJIS):
		return c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc
	case m.has(likeBig5):
		return c >= 0xa1 && c <= 0xf9
	}
	return c >= 0x81 && c <= 0xfe
}

// trails reports whether a byte may be the second. None of ASCII below @ can, so that a quote always is one.
func trails(c byte) bool { return c >= 0x40 && c <= 0x7e || c >= 0x80 && c <= 0xfe }

// indexQuote returns the index of the first quote, or backslash if those escape, or -1.
func (m modes) indexQuote(b []byte, quote byte, escapes bool) int {
	if !m.has(wide) {
		return indexQuote(b, quote, escapes)
	}
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == quote || c == '\\' && escapes:
			return i
		case i+1 < len(b) && m.leads(c) && trails(b[i+1]):
			i++
		}
	}
	return -1
}

// half reports whether b ends in the first byte of a character of two.
func (m modes) half(b []byte) bool {
	if !m.has(wide) {
		return false
	}
	i := 0
	for i+1 < len(b) {
		if m.leads(b[i]) && trails(b[i+1]) {
			i++
		}
		i++
	}
	return i < len(b) && m.leads(b[i])
}
