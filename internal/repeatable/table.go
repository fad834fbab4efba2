package repeatable

import (
	"slices"
	"strings"
)

// definition is a table that CREATE TABLE makes. It has no rows, so that what its columns are is of
// no matter: each is made again from the same text. What is looked for is the primary key, and what
// stands behind the columns.
type definition struct {
	*statement
	table   Table
	primary []string
	// known says that primary is all of the key, engine that one is named, copied that the table is
	// made like another one.
	known, engine, copied bool
}

// like is behind LIKE.
func (d *definition) like() {
	from, ok := d.statement.table(d.query.Schema)
	if !ok {
		d.unknown()
		return
	}
	d.copied = true
	d.primary, d.known = d.judge.keys.get(from)
	d.historic = d.judge.historic[from.fold()]
}

// elements reads the columns, keys and constraints, from behind the first parenthesis on.
func (d *definition) elements() {
	d.known = true
	for {
		d.element()
		switch {
		case d.eatSymbol(','):
		case d.eatSymbol(')'):
			return
		default:
			d.unknown()
			return
		}
	}
}

// element reads a column, a key or a constraint.
func (d *definition) element() {
	if d.eat("constraint") {
		if !d.is("primary|unique|foreign|check") {
			d.name()
		}
	} else if d.tok.kind == tokenWord && d.is("index|key|unique|fulltext|spatial|vector|foreign|check|period") || d.tok.kind == tokenSymbol {
		d.skipElement()
		return
	}
	if d.match("primary key") {
		columns, ok := d.keyParts()
		if !ok {
			d.unknown()
			return
		}
		d.primary = columns
		d.skipElement()
		return
	}
	column, ok := d.name()
	if !ok {
		d.skipElement()
		return
	}
	if d.keyOfColumn() {
		d.primary = []string{column}
	}
}

// keyOfColumn reads a column's definition and reports whether it is the primary key.
func (p *parser) keyOfColumn() bool {
	primary := false
	for p.tok.kind != tokenEnd && p.tok.kind != tokenBad && !p.symbol(',') && !p.symbol(')') {
		switch {
		case p.symbol('('):
			if !p.skipParens() {
				return false
			}
		case p.is("comment|collate|charset|set|default|references"):
			// What follows may be spelled like a keyword.
			p.next()
			if !p.symbol('(') {
				p.next()
			}
		case p.is("unique"):
			p.next()
			p.eat("key")
		case p.is("key"):
			p.next()
			primary = true
		default:
			p.next()
		}
	}
	return primary
}

// keyParts moves over a key's type, name and parts, and returns its columns. Of a part that is an
// expression there is none.
func (p *parser) keyParts() ([]string, bool) {
	p.match("if not exists")
	if !p.symbol('(') && !p.is("using|type") {
		p.name()
	}
	if p.eat("using|type") {
		p.name()
	}
	if !p.eatSymbol('(') {
		return nil, false
	}
	var columns []string
	for {
		if p.symbol('(') {
			if !p.skipParens() {
				return nil, false
			}
		} else {
			c, ok := p.name()
			if !ok || p.symbol('(') && !p.skipParens() { // a prefix
				return nil, false
			}
			columns = append(columns, c)
		}
		p.eat("asc|desc")
		p.match("without overlaps")
		switch {
		case p.eatSymbol(','):
		case p.eatSymbol(')'):
			return columns, true
		default:
			return nil, false
		}
	}
}

// engines are those that every server of these flavours has, and that are never replaced.
const engines = "innodb|myisam|memory|heap|csv|mrg_myisam|merge"

// ofMySQL and ofMariaDB are those that are always there in one flavour.
const (
	ofMySQL   = "archive|blackhole"
	ofMariaDB = "aria"
)

// engine moves over the name of an engine.
func (s *statement) engine() {
	name, ok := s.word()
	if !ok {
		s.unknown()
		return
	}
	list := engines + "|" + ofMariaDB
	if s.mysql {
		list = engines + "|" + ofMySQL
	}
	for e := range strings.SplitSeq(list, "|") {
		if strings.EqualFold(name, e) {
			return
		}
	}
	s.fence("engine", "engine "+shorten([]byte(name))+" may be another where it is not loaded")
}

// word moves over a word, a quoted name or a string.
func (p *parser) word() (string, bool) {
	if p.tok.kind != tokenWord && p.tok.kind != tokenName && p.tok.kind != tokenString {
		return "", false
	}
	text := string(p.tok.text)
	p.next()
	return text, true
}

// options reads what stands behind the columns.
func (d *definition) options() {
	for !d.end() {
		switch {
		case d.eatSymbol(','):
		case d.option(&d.engine):
		case d.match("partition by"):
			d.partitions("ignore|replace|as|select|with|start|values|table")
		case d.match("with system versioning"):
		case d.match("start transaction"):
			// MySQL writes a CREATE TABLE ... SELECT like that; its rows follow.
		case d.is("ignore|replace|as|select|with|values|table") || d.symbol('('):
			d.fence("create_select", "CREATE TABLE ... SELECT is in the log as text")
			d.lost = true
			return
		default:
			d.unknown()
			return
		}
	}
}

// plainOptions are options of a table with one value, which say what they mean.
const plainOptions = "auto_increment|avg_row_length|checksum|table_checksum|comment|compression|connection|" +
	"autoextend_size|delay_key_write|encryption|encrypted|encryption_key_id|engine_attribute|" +
	"secondary_engine_attribute|secondary_engine|insert_method|itef_quotes|key_block_size|max_rows|min_rows|pack_keys|" +
	"page_checksum|page_compressed|page_compression_level|password|row_format|sequence|" +
	"stats_auto_recalc|stats_persistent|stats_sample_pages|transactional|atomic_writes"

// option reads one option of a table, and notes whether it names the engine.
func (s *statement) option(engine *bool) bool {
	switch {
	case s.eat("engine|type"):
		s.eatSymbol('=')
		s.engine()
		*engine = true
	case s.match("[default] character set") || s.match("[default] charset|collate"):
		s.eatSymbol('=')
		name, _ := s.word()
		s.named = isUTF8(name)
	case s.is(plainOptions):
		name := string(s.tok.text)
		s.next()
		s.eatSymbol('=')
		value, _ := s.word()
		s.plain(name, value)
	case s.match("union"):
		s.eatSymbol('=')
		s.skipParens()
	case s.eat("tablespace"):
		s.eatSymbol('=')
		s.tablespace()
	case s.eat("storage"):
		s.next()
	case s.match("data|index directory"):
		s.eatSymbol('=')
		s.word()
		s.fence("tablespace", "files outside of the data directory")
	default:
		name, value, ok := s.attribute()
		s.plain(name, value)
		return ok
	}
	return true
}

// plain judges an option with one value. By DEFAULT the server takes it from a setting, as where the text has it not.
func (s *statement) plain(name, value string) {
	if !s.mysql && strings.EqualFold(value, "default") && slices.Contains(Options, strings.ToUpper(name)) {
		s.fence("option", strings.ToUpper(name)+"=DEFAULT is what a setting says: give its value")
	}
}

// attribute moves over an attribute that MariaDB hands to the engine, quoted as it writes it itself.
func (p *parser) attribute() (name, value string, ok bool) {
	if p.mysql || p.tok.kind != tokenName {
		return "", "", false
	}
	if name, ok = p.name(); !ok || !p.eatSymbol('=') {
		return name, "", false
	}
	value, ok = p.word()
	return name, value, ok
}

// tablespace moves over a tablespace's name.
func (s *statement) tablespace() {
	name, _ := s.word()
	if !strings.EqualFold(name, "innodb_file_per_table") {
		s.fence("tablespace", "a table in a tablespace of its own name")
	}
}

// partitions reads what is behind PARTITION BY, to the end or to one of the words.
func (s *statement) partitions(until string) {
	depth := 0
	for !s.end() && s.tok.kind != tokenBad {
		switch {
		case s.symbol('('):
			depth++
		case s.symbol(')'):
			depth--
		case s.is("system_time"):
			s.historic = true
		case s.is("directory"):
			s.fence("tablespace", "files outside of the data directory")
		case s.eat("tablespace"):
			s.eatSymbol('=')
			s.tablespace()
			continue
		case depth == 0 && s.is(until):
			return
		}
		s.next()
	}
	if s.tok.kind == tokenBad {
		s.unknown()
	}
}
