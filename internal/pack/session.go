package pack

import (
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// setting is what is known of a variable of the session.
type setting uint8

const (
	initial setting = iota // as the client that loads the dump has it
	off
	on
	unknown
)

// session follows the settings and the transactions of a dump.
type session struct {
	// settings are foreign_key_checks and autocommit; saved are those that variables of the
	// user hold.
	settings, saved map[string]setting
	// modes counts how often what CREATE TABLE depends on was set.
	modes int

	// begun says that the dump has begun a transaction; dirty that something was done since the
	// last commit of a transaction of its own, and lost that some of that is committed already.
	begun, dirty, lost bool
}

// maxSaved bounds how many variables of the user are kept.
const maxSaved = 1000

func newSession() session {
	return session{settings: map[string]setting{"foreign_key_checks": initial, "autocommit": initial}, saved: map[string]setting{}}
}

// set follows a SET statement.
func (s *session) set(text []byte) {
	for _, a := range dump.Assignments(text) {
		value := s.value(a)
		if a.User {
			if len(s.saved) < maxSaved {
				s.saved[a.Name] = value
			}
			continue
		}
		switch a.Name {
		case "foreign_key_checks":
			s.settings[a.Name] = value
		case "autocommit":
			if s.settings[a.Name] == off && value != off {
				s.committed()
				s.begun = false
			}
			s.settings[a.Name] = value
		case "sql_mode", "innodb_strict_mode":
			s.modes++
		}
	}
}

func (s *session) value(a dump.Assignment) setting {
	switch a.Value {
	case "0", "off", "false":
		return off
	case "1", "on", "true":
		return on
	}
	name, system := strings.CutPrefix(a.From, "@@")
	if system {
		if v, ok := s.settings[name]; ok {
			return v
		}
		return unknown
	}
	name, _ = strings.CutPrefix(a.From, "@")
	if v, ok := s.saved[name]; ok {
		return v
	}
	return unknown
}

// leavesChecksOff says that foreign_key_checks are off, and no longer after a SET statement.
func (s *session) leavesChecksOff(text []byte) bool {
	if !s.checksOff() {
		return false
	}
	for _, a := range dump.Assignments(text) {
		if !a.User && a.Name == "foreign_key_checks" && s.value(a) != off {
			return true
		}
	}
	return false
}

func (s *session) checksOff() bool { return s.settings["foreign_key_checks"] == off }

// own says that the dump has a transaction of its own open, or may have.
func (s *session) own() bool {
	return s.begun || s.settings["autocommit"] == off || s.settings["autocommit"] == unknown
}

// committed ends a transaction of the dump.
func (s *session) committed() { s.dirty, s.lost = false, false }

// committedHere is an end that the dump does not have there.
func (s *session) committedHere() {
	if s.own() && s.dirty {
		s.lost = true
	}
}
