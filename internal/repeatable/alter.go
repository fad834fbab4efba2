package repeatable

// alterations are what ALTER may be followed by, behind its modifiers.
var alterations []rule

func init() {
	alterations = []rule{
		{"table", (*statement).alterTable},
		{"database|schema", func(s *statement) { s.utf8(); s.skip() }},
		{"view|procedure|function|server|sequence|library|role", pass},
		{"user", (*statement).account},
		{"event", (*statement).schedule},
		{"json [relational] duality view", pass},
		{"instance", refuse("install", "ALTER INSTANCE changes the server, not the data")},
		{"tablespace|undo|logfile", refuse("tablespace", "a tablespace outside of the data directory's log")},
		{"resource", refuse("unknown", "resource groups are in no log")},
	}
}

// alter judges what is behind ALTER.
func (s *statement) alter() {
	s.modifiers()
	if s.is("ignore") {
		s.next()
		s.fence("ignore", "ALTER IGNORE keeps the first of several rows, in no order that is told")
	}
	if !s.first(alterations) {
		s.unknown()
	}
}

// alteration is an ALTER TABLE.
type alteration struct {
	*statement
	// table is the one that is altered, name what it is called afterwards; elsewhere says that its
	// database afterwards is not known.
	table, name Table
	elsewhere   bool
	primary     keyChange
	// numbers says that a column becomes AUTO_INCREMENT, engine that one is named, sorts that rows
	// are put in an order.
	numbers, engine, sorts bool
	// drops says that a partition is dropped, and named that the statement says by which algorithm.
	drops, named bool
	// dated says that a column that is there becomes a date.
	dated bool
}

func (s *statement) alterTable() {
	s.maybe = s.match("if exists")
	t, ok := s.statementTable()
	if !ok {
		return
	}
	s.waits()
	s.utf8()
	a := alteration{statement: s, table: t, name: t}
	a.primary.before, a.primary.wasKnown = s.judge.keys.get(t)
	a.primary.loose = s.loose()
	s.historic = s.judge.historic[t.fold()]
	for !s.end() {
		a.clause()
		if s.tok.kind == tokenBad {
			s.unknown()
		}
		if s.lost || s.end() {
			break
		}
		// Options of a table need no comma between them.
		s.eatSymbol(',')
	}
	if s.historic {
		s.judge.historic[a.table.fold()], s.judge.historic[a.name.fold()] = true, true
	}
	if a.numbers {
		if a.engine || a.sorts {
			a.fence("auto_increment", "AUTO_INCREMENT with another engine or order: rows may be numbered in another order")
		}
		s.made(a.name)
	}
	if a.mysql && a.drops && !a.named {
		a.verdict.Copied = []Table{a.table}
	}
	if !a.mysql && a.dated {
		a.verdict.Dated = []Table{a.name}
	}
	if a.name != a.table {
		s.changes = append(s.changes, change{table: a.table})
	}
	columns, known := a.primary.after()
	s.changes = append(s.changes, change{table: a.name, known: known && !a.elsewhere, columns: columns})
}

// statementTable moves over the name of the table that a statement is about.
func (s *statement) statementTable() (Table, bool) {
	t, ok := s.table(s.query.Schema)
	if !ok || !s.legible(t) {
		s.unknown()
		return Table{}, false
	}
	return t, true
}

// waits moves over MariaDB's WAIT n and NOWAIT.
func (s *statement) waits() {
	if s.eat("wait") {
		s.next()
		return
	}
	s.eat("nowait")
}
