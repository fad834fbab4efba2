package repeatable

import "strings"

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

// clause is a part of ALTER TABLE.
type clause struct {
	pattern string
	do      func(*alteration)
}

// clauses are the parts of ALTER TABLE that are understood, the longer patterns first.
var clauses []clause

func init() {
	clauses = []clause{
		{"add system versioning", refusal("versioning", "ADD SYSTEM VERSIONING: existing rows get the time of the statement")},
		{"with system versioning", refusal("versioning", "WITH SYSTEM VERSIONING: existing rows get the time of the statement")},
		{"add period for system_time", refusal("versioning", "ADD PERIOD FOR SYSTEM_TIME: existing rows get the time of the statement")},
		{"add period for", (*alteration).element},
		{"add partition", (*alteration).partition},
		{"add primary key", (*alteration).addPrimary},
		{"add constraint", (*alteration).addConstraint},
		{"add foreign key", (*alteration).element},
		{"add unique|fulltext|spatial [index|key]", (*alteration).index},
		{"add vector index|key", (*alteration).index},
		{"add index|key", (*alteration).index},
		{"add check", (*alteration).checks},
		{"add [column]", (*alteration).addColumn},
		{"alter", (*alteration).element},
		{"change [column]", (*alteration).changeColumn},
		{"modify [column] [if exists]", (*alteration).modifyColumn},
		{"drop primary key", (*alteration).dropPrimary},
		{"drop index|key|constraint [if exists]", (*alteration).dropKey},
		{"drop foreign key", (*alteration).element},
		{"drop check", (*alteration).element},
		{"drop period for", (*alteration).element},
		{"drop partition", (*alteration).cut},
		{"drop system versioning", (*alteration).element},
		{"drop [column] [if exists]", (*alteration).dropColumn},
		{"rename column", (*alteration).renameColumn},
		{"rename index|key", (*alteration).element},
		{"rename [to|as]", (*alteration).rename},
		{"convert to", (*alteration).element},
		{"convert partition", (*alteration).cut},
		{"convert table", (*alteration).partition},
		{"truncate|exchange partition", (*alteration).cut},
		{"disable|enable keys", nil},
		{"discard|import", refusal("tablespace", "DISCARD and IMPORT TABLESPACE take files that are in no log")},
		{"force", nil},
		{"order by", (*alteration).order},
		{"algorithm|lock", (*alteration).setting},
		{"with|without validation", nil},
		{"upgrade partitioning", nil},
		{"remove partitioning", nil},
		{"partition by", (*alteration).partitionBy},
		{"coalesce|reorganize|analyze|check|optimize|rebuild|repair partition", (*alteration).partition},
		{"secondary_load|secondary_unload", (*alteration).partition},
	}
}

func refusal(kind, why string) func(*alteration) {
	return func(a *alteration) { a.fence(kind, why); a.skip() }
}

// clause judges the next part.
func (a *alteration) clause() {
	for _, c := range clauses {
		// ADD and DROP of a column whose name is spelled as a keyword must quote it.
		if a.match(c.pattern) {
			if c.do != nil {
				c.do(a)
			}
			return
		}
	}
	if !a.option(&a.engine) {
		a.unknown()
	}
}

func (a *alteration) checks() { a.check() }

func (a *alteration) element() { a.skipElement() }

// partition judges the work on partitions, which stands alone.
func (a *alteration) partition() {
	a.partitions("")
}

// cut judges what takes the rows of a partition away.
func (a *alteration) cut() {
	if a.historic {
		a.fence("versioning", "a partition by SYSTEM_TIME: its rows depend on the order of commits")
	}
	a.partition()
}

func (a *alteration) partitionBy() { a.partitions("") }

func (a *alteration) setting() {
	a.eatSymbol('=')
	a.next()
}

// order moves over ORDER BY, whose list has commas.
func (a *alteration) order() {
	a.sorts = true
	for {
		if _, ok := a.statement.table(""); !ok {
			a.unknown()
			return
		}
		a.eat("asc|desc")
		begin := a.parser
		if !a.eatSymbol(',') || a.is("add|alter|change|modify|drop|rename|convert|order|force|algorithm|lock|engine") {
			a.parser = begin
			return
		}
	}
}

// index is behind ADD and the words that say which kind of index.
func (a *alteration) index() {
	if _, ok := a.keyParts(); !ok {
		a.unknown()
		return
	}
	a.indexOptions()
}

// indexOptions moves over the options of an index, to the end of the clause.
func (a *alteration) indexOptions() {
	for {
		switch {
		case a.eat("visible|invisible|ignored"), a.match("not ignored"):
		case a.match("with parser"):
			a.word()
		case a.eat("key_block_size|using|type|comment|engine_attribute|secondary_engine_attribute|clustering|m|distance"):
			a.eatSymbol('=')
			a.word()
		default:
			if !a.attribute() {
				return
			}
		}
	}
}

// addPrimary is behind ADD PRIMARY KEY.
func (a *alteration) addPrimary() {
	maybe := a.is("if")
	columns, ok := a.keyParts()
	if !ok {
		a.unknown()
		return
	}
	a.primary.add(columns, maybe)
	a.indexOptions()
}

// addConstraint is behind ADD CONSTRAINT.
func (a *alteration) addConstraint() {
	a.match("if not exists")
	if !a.is("primary|unique|foreign|check") {
		a.parser.name()
	}
	switch {
	case a.match("primary key"):
		a.addPrimary()
	case a.eat("check"):
		a.check()
	case a.eat("unique"):
		a.index()
	case a.match("foreign key"):
		a.skipElement()
	default:
		a.unknown()
	}
}

// check is behind CHECK: the rows that are there are checked.
func (s *statement) check() {
	if !s.eatSymbol('(') {
		s.unknown()
		return
	}
	if why := s.expression(""); why != "" {
		s.fence("function", "CHECK: "+why)
	}
	if !s.eat("enforced") {
		s.match("not enforced")
	}
}

func (a *alteration) dropPrimary() { a.primary.dropped = true }

// dropKey is behind DROP INDEX and DROP CONSTRAINT, which may be of the primary key.
func (a *alteration) dropKey() {
	name, ok := a.parser.name()
	if !ok {
		a.unknown()
		return
	}
	if strings.EqualFold(name, "primary") {
		a.dropPrimary()
	}
}

func (a *alteration) dropColumn() {
	name, ok := a.parser.name()
	if !ok {
		a.unknown()
		return
	}
	a.eat("cascade|restrict")
	a.primary.lose(name)
}

func (a *alteration) renameColumn() {
	a.perhaps("if exists")
	from, ok := a.parser.name()
	ok = a.eat("to") && ok
	to, named := a.parser.name()
	if !ok || !named {
		a.unknown()
		return
	}
	a.primary.rename(from, to)
}

func (a *alteration) rename() {
	a.eatSymbol('=')
	t, ok := a.statement.table("")
	if !ok || !a.legible(t) {
		a.unknown()
		return
	}
	if t.Schema == "" {
		t.Schema = a.table.Schema
		a.elsewhere = a.table.Schema != a.query.Schema
	}
	a.name = t
	if a.elsewhere {
		a.statement.changes = append(a.statement.changes, change{table: Table{a.query.Schema, t.Name}})
	}
}

// addColumn is behind ADD COLUMN.
func (a *alteration) addColumn() {
	a.perhaps("if not exists")
	if !a.eatSymbol('(') {
		a.column(true, false)
		return
	}
	for {
		switch {
		case a.is("constraint"):
			a.next()
			a.addConstraint()
		case a.match("primary key"):
			a.addPrimary()
		case a.eat("check"):
			a.check()
		case a.eat("index|key|unique|fulltext|spatial"):
			a.eat("index|key")
			a.index()
		case a.match("foreign key"):
			a.skipElement()
		default:
			a.column(true, false)
		}
		switch {
		case a.lost:
			return
		case a.eatSymbol(','):
		case a.eatSymbol(')'):
			return
		default:
			a.unknown()
			return
		}
	}
}

func (a *alteration) changeColumn() {
	a.perhaps("if exists")
	a.column(false, true)
}

// perhaps moves over a condition, with which the clause may do nothing.
func (a *alteration) perhaps(condition string) {
	if a.match(condition) {
		a.primary.loose = true
	}
}

func (a *alteration) modifyColumn() { a.column(false, false) }
