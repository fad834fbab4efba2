package repeatable

import "strings"

// creations are what CREATE may be followed by, behind its modifiers.
var creations []rule

func init() {
	creations = []rule{
		{"temporary", (*statement).temporary},
		{"table", (*statement).createTable},
		{"database|schema", (*statement).createDatabase},
		{"index", pass},
		{"unique|fulltext|spatial|vector [index|key]", pass},
		{"view", pass},
		{"procedure", pass},
		{"function", (*statement).createFunction},
		{"trigger", pass},
		{"event", (*statement).schedule},
		{"package", pass},
		{"sequence", (*statement).createSequence},
		{"user", (*statement).account},
		{"role|server", pass},
		{"spatial reference system", pass},
		{"library", pass},
		{"json [relational] duality view", pass},
		{"tablespace|undo|logfile", refuse("tablespace", "a tablespace outside of the data directory's log")},
		{"resource", refuse("unknown", "resource groups are in no log")},
	}
}

// create judges what is behind CREATE.
func (s *statement) create() {
	replace := s.modifiers()
	if s.is("table") && replace {
		s.next()
		s.createTableOr(true)
		return
	}
	if !s.first(creations) {
		s.unknown()
	}
}

// temporary tables may have the names of others, for their session alone.
func (s *statement) temporary() {
	s.judge.blind = true
	s.fence("temporary", "a temporary table is in the log")
}

// modifiers moves over what stands between CREATE or ALTER and what it is of.
func (s *statement) modifiers() (replace bool) {
	for {
		switch {
		case s.match("or replace"):
			replace = true
		case s.eat("online|offline|aggregate"):
		case s.match("sql security"):
			s.next()
		case s.is("algorithm|definer"):
			s.next()
			s.eatSymbol('=')
			s.user()
		default:
			return replace
		}
	}
}

// user moves over an account, a role, or any other single word.
func (s *statement) user() {
	s.next()
	if s.eatSymbol('@') {
		if s.eatSymbol('%') {
			return
		}
		s.next()
		return
	}
	s.skipParens() // as CURRENT_USER has them
}

func (s *statement) createDatabase() {
	s.match("if not exists")
	name, ok := s.name()
	if !ok {
		s.unknown()
		return
	}
	s.utf8()
	// OR REPLACE removes what was there.
	if s.judge.keys.any(name) {
		s.changes = append(s.changes, change{table: Table{Schema: name}, schema: true})
	}
	s.skip()
}

// createFunction tells a routine from one of a library that the server loads.
func (s *statement) createFunction() {
	s.match("if not exists")
	if _, ok := s.table(s.query.Schema); !ok {
		s.unknown()
		return
	}
	switch {
	case s.symbol('('):
		s.skip()
	case s.eat("returns"):
		s.next()
		if s.is("soname") {
			s.fence("install", "CREATE FUNCTION ... SONAME changes the server, not the data")
			return
		}
		// Oracle mode leaves out parentheses where there are no parameters.
		s.skip()
	case s.is("return|is|as"):
		s.skip()
	default:
		s.unknown()
	}
}

// account is for statements with passwords. MySQL logs hashes; MariaDB logs what it was given, and
// its plugin parsec makes another hash of it each time.
func (s *statement) account() {
	for !s.mysql && !s.end() && s.tok.kind != tokenBad {
		if word, ok := s.word(); !ok {
			s.next()
		} else if same([]byte(word), "parsec") {
			s.fence("account", "the plugin parsec makes another hash of a password each time")
		}
	}
	s.skip()
}

// grant is for GRANT and REVOKE. Of roles, MariaDB logs CURRENT_USER as it was said, and not whom that is: an applier, which is
// nobody, refuses it, or in a mode without NO_AUTO_CREATE_USER makes an account without a name, and gives the role to that.
func (s *statement) grant() {
	if begin := s.parser; !s.mysql && s.query.SQLMode&noAutoCreateUser == 0 {
		if s.roleOfCurrentUser() {
			s.fence("account", "the log does not say who CURRENT_USER is, and the role goes to an account without a name")
		}
		s.parser = begin
	}
	s.account()
}

// roleOfCurrentUser looks for CURRENT_USER among those to whom roles are given, or from whom they are taken.
func (s *statement) roleOfCurrentUser() bool {
	for ; !s.is("to|from"); s.next() {
		if s.is("on") || s.end() || s.tok.kind == tokenBad {
			return false // rights, of which the log says whose they are
		}
	}
	for ; !s.end() && s.tok.kind != tokenBad; s.next() {
		if s.is("current_user") {
			return true
		}
	}
	return false
}

func (s *statement) createSequence() {
	s.match("if not exists")
	t, ok := s.table(s.query.Schema)
	if !ok {
		s.unknown()
		return
	}
	engine := false
	for !s.end() {
		if s.tok.kind == tokenBad {
			s.unknown()
			return
		}
		if s.eat("engine") {
			s.eatSymbol('=')
			s.engine()
			engine = true
			continue
		}
		s.next()
	}
	if !engine {
		s.made(t)
	}
	s.verdict.Made = []Table{t} // which MariaDB alone has
}

// made remembers a table whose engine must be InnoDB.
func (s *statement) made(t Table) {
	if !s.legible(t) {
		return
	}
	s.verdict.Tables = append(s.verdict.Tables, t)
}

// schedule judges the time of an event, which is computed when the statement runs.
func (s *statement) schedule() {
	for !s.end() && !s.is("schedule|do|rename|enable|disable|comment") {
		if s.tok.kind == tokenBad {
			s.unknown()
			return
		}
		s.next()
	}
	if !s.eat("schedule") {
		s.skip()
		return
	}
	if why := s.expression(scheduled); why != "" {
		s.fence("function", "the schedule: "+why)
	}
	s.skip()
}

// scheduled ends the time of an event.
const scheduled = "on|do|enable|disable|comment|rename"

func (s *statement) createTable() { s.createTableOr(false) }

// createTableOr judges CREATE [OR REPLACE] TABLE from behind TABLE on.
func (s *statement) createTableOr(replace bool) {
	maybe := s.match("if not exists")
	t, ok := s.table(s.query.Schema)
	if !ok || !s.legible(t) {
		s.unknown()
		return
	}
	s.utf8()
	d := definition{statement: s, table: t}
	switch {
	case s.eat("like"):
		d.like()
	case s.symbol('('):
		begin := s.parser
		s.next()
		if s.eat("like") {
			d.like()
			s.eatSymbol(')')
			break
		}
		if s.is("select|with|values") || s.symbol('(') {
			s.parser = begin
			break
		}
		d.elements()
	}
	d.options()
	if d.named {
		s.utf8Table = t
	}
	if d.historic {
		s.judge.historic[t.fold()] = true
	}
	if !d.engine && !d.copied {
		s.made(t)
	}
	if !s.mysql && !d.copied {
		s.verdict.Made = []Table{t}
	}
	c := change{table: t, known: d.known, columns: d.primary}
	if maybe && !replace {
		// What there was may be another table.
		have, known := s.judge.keys.get(t)
		c.known = known && d.known && strings.Join(have, "\x00") == strings.ToLower(strings.Join(d.primary, "\x00"))
	}
	s.changes = append(s.changes, c)
}
