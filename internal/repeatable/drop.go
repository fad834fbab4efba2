package repeatable

// drops are what DROP may be followed by.
var drops []rule

func init() {
	drops = []rule{
		{"table|tables", (*statement).dropTables},
		{"temporary table|tables", pass},
		{"database|schema", (*statement).dropDatabase},
		{"index", (*statement).dropIndex},
		{"view|procedure|function|trigger|event|package|user|role|server|library", pass},
		{"sequence", pass},
		{"spatial reference system", pass},
		{"tablespace|undo|logfile", refuse("tablespace", "a tablespace outside of the data directory's log")},
		{"resource", refuse("unknown", "resource groups are in no log")},
	}
}

// drop judges what is behind DROP.
func (s *statement) drop() {
	if !s.first(drops) {
		s.unknown()
	}
}

func (s *statement) dropTables() {
	s.match("if exists")
	for {
		t, ok := s.table(s.query.Schema)
		if !ok {
			s.unknown()
			return
		}
		s.changes = append(s.changes, change{table: t})
		if !s.eatSymbol(',') {
			break
		}
	}
	s.besideNotes(1)
	s.waits()
	s.eat("cascade|restrict")
	if !s.end() {
		s.unknown()
	}
}

func (s *statement) dropDatabase() {
	s.match("if exists")
	name, ok := s.name()
	if !ok {
		s.unknown()
		return
	}
	s.changes = append(s.changes, change{table: Table{Schema: name}, schema: true})
}

// dropIndex may be of the primary key.
func (s *statement) dropIndex() {
	s.match("if exists")
	_, ok := s.name()
	if ok = s.eat("on") && ok; !ok {
		s.unknown()
		return
	}
	if t, ok := s.statementTable(); ok {
		s.changes = append(s.changes, change{table: t})
	}
}

// rename is behind RENAME TABLE.
func (s *statement) rename() {
	s.maybe = s.match("if exists")
	for {
		from, ok := s.table(s.query.Schema)
		s.waits()
		ok = s.eat("to") && ok
		to, named := s.table(s.query.Schema)
		if !ok || !named || !s.legible(to) {
			s.unknown()
			return
		}
		columns, known := s.keyOf(from)
		known = known && !s.loose()
		if s.judge.historic[from.fold()] {
			s.judge.historic[to.fold()] = true
		}
		if !s.mysql {
			s.verdict.Renamed = append(s.verdict.Renamed, [2]Table{from, to})
		}
		s.changes = append(s.changes, change{table: from}, change{table: to, known: known, columns: columns})
		if !s.eatSymbol(',') {
			break
		}
	}
	s.besideNotes(2)
	if !s.end() {
		s.unknown()
	}
}

// keyOf returns a table's primary key as the statement has left it so far.
func (s *statement) keyOf(t Table) ([]string, bool) {
	for i := len(s.changes) - 1; i >= 0; i-- {
		if c := s.changes[i]; !c.schema && c.table.fold() == t.fold() {
			return c.columns, c.known && c.table == t
		}
	}
	return s.judge.keys.get(t)
}
