package repeatable

// types are those of columns.
var types = words("int|integer|tinyint|smallint|mediumint|bigint|int1|int2|int3|int4|int8|middleint|" +
	"decimal|dec|fixed|numeric|number|float|float4|float8|double|real|bit|bool|boolean|" +
	"char|character|nchar|varchar|varchar2|nvarchar|varcharacter|binary|varbinary|raw|" +
	"tinyblob|blob|mediumblob|longblob|clob|tinytext|text|mediumtext|longtext|long|json|enum|set|" +
	"date|time|datetime|timestamp|year|" +
	"geometry|point|linestring|polygon|multipoint|multilinestring|multipolygon|geometrycollection|geomcollection|" +
	"uuid|inet4|inet6|vector|national")

// column judges a column's definition, from its name on, of ADD, CHANGE or MODIFY.
func (a *alteration) column(added, change bool) {
	name, ok := a.parser.name()
	if !ok {
		a.unknown()
		return
	}
	from := name
	if change {
		if name, ok = a.parser.name(); !ok {
			a.unknown()
			return
		}
		a.primary.rename(from, name)
	}
	if a.is("serial") {
		a.fence("auto_increment", "SERIAL: rows may be numbered in another order")
		a.next()
	}
	c := column{alteration: a, name: name, from: from, added: added}
	if !a.typeOfColumn(&c) {
		a.unknown()
		return
	}
	for c.attribute() {
	}
	c.judge()
}

// column is a definition that is being read.
type column struct {
	*alteration
	name, from string
	// added says that the table has no such column yet.
	added bool
	// moment says that it is a TIMESTAMP with fractions of a second; nullable and defaulted what was
	// said of it.
	moment, nullable, defaulted bool
	numbered, stored            bool
	// formula is what keeps the expression of a generated column from giving the same again.
	formula string
}

// typeOfColumn moves over a type.
func (a *alteration) typeOfColumn(c *column) bool {
	if a.tok.kind != tokenWord || !types.has(a.tok.text) {
		return a.verdict.Kind == "auto_increment"
	}
	stamp := a.is("timestamp")
	a.dated = a.dated || !c.added && a.is("date|datetime|timestamp")
	a.next()
	a.eat("precision|varying|char|character|varchar|varbinary|varcharacter")
	a.eat("varying")
	if a.symbol('(') {
		begin := a.parser
		a.next()
		zero := string(a.tok.text) == "0"
		a.parser = begin
		if !a.skipParens() {
			return false
		}
		c.moment = stamp && !zero
	}
	return true
}

// attribute moves over one attribute of a column, and reports whether there was one.
func (c *column) attribute() bool {
	switch {
	case c.eat("unsigned|signed|zerofill|binary|ascii|unicode|byte|visible|invisible|first|virtual|enforced"):
	case c.eat("stored|persistent"):
		c.stored = true
	case c.match("not null"), c.match("not enforced"):
	case c.eat("null"):
		c.nullable = true
	case c.eat("default"):
		c.defaulted = true
		c.defaultValue()
	case c.eat("auto_increment"):
		c.numbered = true
	case c.match("serial default value"):
		c.numbered = true
	case c.match("on update"):
		return c.now()
	case c.match("unique [key]"):
	case c.match("primary key") || c.eat("key"):
		c.primary.add([]string{c.name}, false)
	case c.match("character set") || c.eat("charset|collate|comment|after|column_format|storage|srid|constraint"):
		_, ok := c.word()
		return ok
	case c.eat("engine_attribute|secondary_engine_attribute|ref_system_id"):
		c.eatSymbol('=')
		_, ok := c.word()
		return ok
	case c.eat("compressed"):
		if c.eatSymbol('=') {
			c.next()
		}
	case c.match("generated always as") || c.eat("as"):
		return c.generated()
	case c.match("with|without system versioning"):
	case c.eat("check"):
		c.check()
	case c.eat("references"):
		return c.references()
	default:
		_, _, ok := c.parser.attribute()
		return ok
	}
	return true
}

// generated is behind AS.
func (c *column) generated() bool {
	if c.match("row start|end") {
		c.fence("versioning", "a column of the row's time: existing rows get the time of the statement")
		return true
	}
	if !c.eatSymbol('(') {
		return false
	}
	c.formula = c.expression("")
	return true
}

// references is behind REFERENCES.
func (c *column) references() bool {
	if _, ok := c.statement.table(""); !ok {
		return false
	}
	if c.symbol('(') && !c.skipParens() {
		return false
	}
	c.match("match full|partial|simple")
	for c.match("on delete|update") {
		if !c.eat("restrict|cascade") && !c.match("set null|default") && !c.match("no action") {
			return false
		}
	}
	return true
}

// judge says what the definition does to rows.
func (c *column) judge() {
	if c.moment && !c.fraction && !c.nullable && (!c.added || !c.defaulted) {
		c.fence("now", "TIMESTAMP with fractions of a second: existing rows get the time of the statement")
	}
	if c.stored && c.formula != "" {
		c.fence("function", "a stored column: "+c.formula)
	}
	if !c.numbered {
		return
	}
	before := c.primary.before
	if c.added || !c.primary.wasKnown || len(before) != 1 || !has(before, c.from) {
		c.fence("auto_increment", shorten([]byte(c.name))+" becomes AUTO_INCREMENT: rows may be numbered in another order")
		return
	}
	c.numbers = true
}
