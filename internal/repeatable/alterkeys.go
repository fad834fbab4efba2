package repeatable

import "strings"

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
			if _, _, ok := a.attribute(); !ok {
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
		a.changes = append(a.changes, change{table: Table{a.query.Schema, t.Name}})
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
