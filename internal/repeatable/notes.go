package repeatable

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// An applier notes how far it is in tables of the schema mysql. A replay leaves out the statements that define, alter or
// remove these, since it would end there.

// Notes reports whether a table is one of them. Rows of these that the log has may be in the way of the applier's own.
func (t Table) Notes(mysql bool) bool {
	notes := "gtid_slave_pos"
	if mysql {
		notes = "slave_"
	}
	return strings.HasPrefix(t.fold(), Table{"mysql", notes}.fold())
}

func (s *statement) ofNotes(t Table) bool { return t.Notes(s.mysql) }

// OfNotes reports whether a statement is one that a replay leaves out.
func OfNotes(q *binlog.Query, mysql bool) bool {
	if bracket(q.SQL) {
		return false
	}
	s := statement{query: q, parser: newParser(q, mysql)}
	s.inner()
	if begin := s.parser; !s.ofTables() {
		s.parser = begin
		return s.ofIndex()
	}
	s.match("if not exists")
	s.match("if exists")
	for {
		t, ok := s.table(q.Schema)
		switch {
		case !ok:
			return false
		case s.ofNotes(t):
			return true
		}
		s.waits()
		if !s.eatSymbol(',') && !s.eat("to") {
			return false
		}
	}
}

// ofIndex reports whether the statement makes or drops an index of such a table.
func (s *statement) ofIndex() bool {
	if !s.eat("create|drop") {
		return false
	}
	s.modifiers()
	s.eat("unique|fulltext|spatial")
	if !s.eat("index") {
		return false
	}
	for !s.eat("on") {
		if s.end() || s.tok.kind == tokenBad {
			return false
		}
		s.next()
	}
	t, ok := s.table(s.query.Schema)
	return ok && s.ofNotes(t)
}

// besideNotes makes a fence of a statement that has more than the given number of changes, one of them of such a table: what
// it does to the others is left out with it.
func (s *statement) besideNotes(most int) {
	if len(s.changes) > most && slices.ContainsFunc(s.changes, func(c change) bool { return s.ofNotes(c.table) }) {
		s.fence("unknown", "a recovery leaves out what a statement does to the tables of appliers, and to others with them")
	}
}
