package dump

import "strings"

// kindOfType tells the kind by the first word of the type, in lower case.
func kindOfType(word string) ColumnKind {
	switch word {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "int1", "int2", "int3", "int4", "int8", "middleint", "bool", "boolean", "serial":
		return IntegerColumn
	case "decimal", "dec", "numeric", "fixed":
		return DecimalColumn
	case "float", "float4", "float8", "double", "real":
		return FloatColumn
	case "char", "character", "varchar", "varcharacter", "nchar", "nvarchar", "national", "long", "tinytext", "text", "mediumtext", "longtext":
		return TextColumn
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return BinaryColumn
	case "date", "time", "datetime", "timestamp":
		return TimeColumn
	case "year":
		return YearColumn
	case "enum", "set":
		return ListColumn
	case "json":
		return JSONColumn
	}
	return OtherColumn
}

// column reads a column.
func (c *creation) column(r *cursor) bool {
	first := r.peek()
	name, ok := r.name()
	kind := r.skip()
	if !ok || kind.kind != tokenWord || kind.versioned || first.versioned {
		return false
	}
	word := strings.ToLower(string(kind.text))
	col := Column{Name: name, Kind: kindOfType(word)}
	if first.kind == tokenWord {
		switch strings.ToLower(name) {
		case "select", "with", "like", "table", "values":
			return false
		case "vector": // or an index of that kind
			if col.Kind == OtherColumn {
				return false
			}
		}
	}
	charset := ""
	switch word {
	case "long":
		if r.accept("varbinary") {
			col.Kind = BinaryColumn
		}
	case "nchar", "nvarchar", "national":
		charset = "utf8"
	}
	col.NullIsNow = word == "timestamp"
	c.Columns, c.charsets = append(c.Columns, col), append(c.charsets, charset)
	if word == "serial" && !c.autoIncrement(true) {
		return false
	}
	for len(r.p) > 0 {
		if !c.attribute(r) {
			return false
		}
	}
	return true
}

// attribute reads one attribute of the last column, or a part of one that does not matter.
func (c *creation) attribute(r *cursor) bool {
	last := len(c.Columns) - 1
	col, charset := &c.Columns[last], &c.charsets[last]
	sure := !r.peek().versioned
	switch {
	case r.peek().symbol('('):
		_, ok := r.group()
		return ok
	case r.accept("not", "null"):
	case r.accept("null"), r.accept("default", "null"):
		col.NullIsNow = false
	case r.accept("serial", "default", "value"):
		return c.autoIncrement(true) && sure
	case r.accept("default"), r.accept("comment"), r.accept("constraint"): // may look like an attribute
		if !r.peek().symbol('(') {
			r.skip()
		}
	case charsetWord(r), r.accept("collate"):
		*charset = strings.ToLower(string(r.skip().text))
	case r.accept("byte"):
		*charset = "binary"
	case r.acceptAny("ascii", "unicode"):
		*charset = "text"
	case r.accept("auto_increment"):
		return c.autoIncrement(false) && sure
	case r.accept("primary", "key"), r.accept("primary"), r.accept("key"):
		if c.PrimaryKey || !sure {
			return false
		}
		c.PrimaryKey, c.primary = true, []keyPart{{col.Name, true}}
	case r.accept("unique"):
		r.accept("key")
		c.unnamed = append(c.unnamed, col.Name)
		return sure
	case r.follow("references"):
		return c.references(r) && sure
	case r.accept("invisible"):
		col.Hidden = true
	case r.accept("generated", "always", "as"), r.accept("as"):
		col.Generated = true
		col.RowTime = !r.peek().symbol('(') // AS ROW START
		c.fixed = c.fixed || col.RowTime
		return sure
	case r.accept("generated"):
		return false
	case r.accept("versioning"):
		c.fixed = true
	default:
		r.skip()
	}
	return true
}

// references reads a foreign key of the last column, which has no name.
func (c *creation) references(r *cursor) bool {
	all := r.p
	r.accept("references")
	_, ok := r.name()
	if ok && r.acceptSymbol('.') {
		_, ok = r.name()
	}
	r.group()
	for ok {
		if r.accept("match") {
			r.skip()
			continue
		}
		if !r.accept("on", "delete") && !r.accept("on", "update") {
			break
		}
		if !r.accept("set", "null") && !r.accept("set", "default") && !r.accept("no", "action") {
			r.skip()
		}
	}
	column := strings.ReplaceAll(c.Columns[len(c.Columns)-1].Name, "`", "``")
	text := c.text[all[0].from:all[len(all)-len(r.p)-1].to]
	c.ForeignKeys = append(c.ForeignKeys, "FOREIGN KEY (`"+column+"`) "+string(text))
	c.fixed = true
	return ok
}

// charsetWord passes over the words before a character set.
func charsetWord(r *cursor) bool {
	return r.accept("character", "set") || r.accept("char", "set") || r.accept("charset")
}

// autoIncrement notes that the last column is that one.
func (c *creation) autoIncrement(unique bool) bool {
	if c.AutoIncrement >= 0 {
		return false
	}
	c.AutoIncrement = len(c.Columns) - 1
	if unique {
		c.unnamed = append(c.unnamed, c.Columns[c.AutoIncrement].Name)
	}
	return true
}
