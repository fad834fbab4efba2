package dump

import (
	"bytes"
	"strconv"
	"strings"
)

// modes is the part of sql_mode that changes where strings end. The bits are
// those of the server's own numbers, which SET sql_mode also takes.
type modes uint32

const (
	ansiQuotes         modes = 1 << 2
	noBackslashEscapes modes = 1 << 20
)

func (m modes) has(bit modes) bool { return m&bit != 0 }

// maxSaved limits the user variables that hold an sql_mode to be put back.
const maxSaved = 64

// session follows the SET statements of a dump as far as sql_mode goes: literal
// values, numbers, DEFAULT, user variables that an earlier SET put sql_mode in,
// CONCAT and REPLACE of those. Anything else leaves the mode as it is.
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
			s.now = value
		}
		if last {
			return
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
		case tok.is("sql_mode"):
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

// parseModes reads a list of mode names, or the number that stands for one.
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
		}
	}
	return m
}
