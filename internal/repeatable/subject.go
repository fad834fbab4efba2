package repeatable

import "github.com/ramaria-db/ramaria/internal/binlog"

// Subject is what a statement makes, changes or removes, as far as that concerns who ends it; see package durable.
type Subject int

const (
	// Other is all that has no word of its own.
	Other Subject = iota
	// Accounts are accounts, roles and rights.
	Accounts
	// Routine is a procedure, a function or a package.
	Routine
	// Database is one that is removed, with the routines in it.
	Database
)

// About is what a statement in MariaDB's log is about.
type About struct {
	Subject Subject
	// Drops says that it removes that.
	Drops bool
	// SQL is the statement itself, without SET STATEMENT ... FOR around it: an applier sets nothing of that either, and what
	// counts of it the event has.
	SQL []byte
}

// AboutOf reads a statement as far as it must: the bodies of routines, triggers and events are never read.
func AboutOf(q *binlog.Query) About {
	s := statement{query: q, parser: newParser(q, false)}
	a := About{SQL: q.SQL}
	if s.is("set") {
		if s.inner(); s.tok.kind == tokenWord {
			a.SQL = s.rest()
		}
	}
	begin := s.parser
	if s.ofAccounts() {
		a.Subject = Accounts
		return a
	}
	s.parser = begin
	if a.Drops = s.is("drop"); !s.eat("create|alter|drop") {
		return a
	}
	s.modifiers()
	switch {
	case s.is("procedure|function|package"):
		a.Subject = Routine
	case a.Drops && s.is("database|schema"):
		a.Subject = Database
	}
	return a
}

// rest is the statement from the present word on.
func (s *statement) rest() []byte {
	rest := s.sql[s.pos-len(s.tok.text):]
	if s.within { // whose end stands in it
		return append([]byte("/*! "), rest...)
	}
	return rest
}
