package dump

import (
	"bytes"
	"slices"
	"strings"
)

// ParseTable reads a CREATE TABLE statement, as Statement.Text has it or SHOW CREATE TABLE gives
// it. It returns false if the text is something else, a temporary table, one that is made from
// another (LIKE, SELECT), or one whose shape is not understood. It knows no sql_mode: what
// another mode would read otherwise is not understood.
func ParseTable(text []byte) (*Table, bool) {
	// Most statements are none, and long.
	if t := (tokens{b: text}); !t.next().is("create") {
		return nil, false
	}
	all, ok := surePieces(text)
	if !ok {
		return nil, false
	}
	c := creation{Table: &Table{AutoIncrement: -1}, text: text}
	r := cursor{all}
	if !c.head(&r) || !c.split(&r) {
		return nil, false
	}
	for i := range c.clauses {
		if !c.clause(&c.clauses[i]) {
			return nil, false
		}
	}
	if len(c.Columns) == 0 || !c.options(&r) {
		return nil, false
	}
	for i, charset := range c.charsets {
		if charset == "" {
			charset = c.charset
		}
		if c.Columns[i].Kind == TextColumn && charset == "binary" {
			c.Columns[i].Kind = BinaryColumn
		}
	}
	c.deferKeys()
	return c.Table, true
}

// creation is a CREATE TABLE statement that is being read.
type creation struct {
	*Table
	text    []byte
	clauses []clause
	// charsets are those of the columns, charset that of the table, if they are stated.
	charsets []string
	charset  string
	primary  []keyPart
	// unnamed are the columns that the server names a key after.
	unnamed []string
	// fixed says that nothing can be deferred.
	fixed bool
}

// clause is one of the parts of the statement that commas separate.
type clause struct {
	p []piece
	// from is where the comma before it is, -1 if it is the first; to that of the comma or the
	// parenthesis behind.
	from, to  int
	kind      clauseKind
	versioned bool
	// name is that of a key or of a foreign key; parts are its columns.
	name  string
	parts []keyPart
	// odd keys have something special about them, and stay.
	odd, stays bool
}

type clauseKind uint8

const (
	otherClause clauseKind = iota // a column, or nothing that has to do with keys
	primaryClause
	uniqueClause
	keyClause  // spatial ones too
	lastClause // full text and vector keys, which the server sorts behind the others
	foreignClause
)

// keyPart is a column of a key, and whether a foreign key can use the key for it.
type keyPart struct {
	column string
	whole  bool
}

// head reads up to the parenthesis of the clauses.
func (c *creation) head(r *cursor) bool {
	all := r.p
	if !r.accept("create") || r.accept("or") && !r.accept("replace") || !r.accept("table") {
		return false
	}
	r.accept("if", "not", "exists")
	var ok bool
	if c.Name, ok = r.name(); !ok {
		return false
	}
	if r.acceptSymbol('.') {
		c.Database = c.Name
		if c.Name, ok = r.name(); !ok {
			return false
		}
	}
	return !slices.ContainsFunc(all[:len(all)-len(r.p)], func(p piece) bool {
		return p.versioned && !p.is("if") && !p.is("not") && !p.is("exists")
	})
}

// split finds the clauses.
func (c *creation) split(r *cursor) bool {
	versioned := r.peek().versioned
	body, ok := r.group()
	if !ok || versioned {
		return false
	}
	start, from := 0, -1
	var depth []bool // the open parentheses: whether they are versioned
	for i, p := range body[:len(body)+1] {
		n := len(depth)
		if n > 0 && depth[n-1] && !p.versioned {
			return false
		}
		switch {
		case p.symbol('('):
			depth = append(depth, p.versioned)
		case p.symbol(')') && n > 0:
			if p.versioned != depth[n-1] {
				return false
			}
			depth = depth[:n-1]
		case n == 0 && (p.symbol(',') || i == len(body)):
			in := body[start:i]
			// Text that ends in an operator could become a comment when the next one is taken out.
			if p.versioned || len(in) == 0 || in[len(in)-1].kind == tokenSymbol && !in[len(in)-1].symbol(')') {
				return false
			}
			c.clauses = append(c.clauses, clause{p: in, from: from, to: p.from, versioned: anyVersioned(in)})
			start, from = i+1, p.from
		}
	}
	return true
}

func anyVersioned(p []piece) bool {
	return slices.ContainsFunc(p, func(p piece) bool { return p.versioned })
}

// clause reads one clause.
func (c *creation) clause(cl *clause) bool {
	r := cursor{cl.p}
	constraint := r.accept("constraint")
	if constraint && !r.follow("primary") && !r.follow("unique") && !r.follow("foreign") && !r.follow("check") {
		var ok bool
		if cl.name, ok = r.name(); !ok {
			return false
		}
	}
	switch {
	case r.accept("primary", "key"):
		cl.kind = primaryClause
	case r.accept("unique"):
		cl.kind = uniqueClause
		r.acceptAny("key", "index")
	case r.accept("foreign", "key"):
		cl.kind = foreignClause
	case r.accept("check"):
		return r.peek().symbol('(')
	case constraint:
		return false
	case r.acceptAny("key", "index"):
		cl.kind = keyClause
	case r.accept("fulltext"):
		cl.kind, cl.odd = lastClause, true
		r.acceptAny("key", "index")
	case r.accept("vector", "key"), r.accept("vector", "index"):
		cl.kind, cl.odd = lastClause, true
	case r.accept("spatial"):
		cl.kind, cl.odd = keyClause, true
		r.acceptAny("key", "index")
	case r.accept("period", "for"):
		c.fixed = true
		return true
	default:
		return c.column(&r)
	}
	return cl.key(&r) && c.keep(cl)
}

// key reads a key behind the word that says what it is.
func (cl *clause) key(r *cursor) bool {
	cl.odd = r.accept("if", "not", "exists") || cl.odd
	typed := r.follow("type", "btree") || r.follow("type", "hash") || r.follow("type", "rtree")
	if !r.peek().symbol('(') && !r.follow("using") && !typed {
		name, ok := r.name()
		switch {
		case !ok:
			return false
		case cl.kind == uniqueClause || cl.kind == keyClause || cl.kind == lastClause:
			cl.name = name
		}
	}
	if !r.accept("using", "btree") && r.acceptAny("using", "type") {
		r.skip()
		cl.odd = true
	}
	list, ok := r.group()
	if !ok || len(list) == 0 {
		return false
	}
	cl.columns(list)
	if cl.kind == foreignClause {
		return r.follow("references")
	}
	for len(r.p) > 0 {
		switch {
		case r.accept("using", "btree"), r.accept("visible"), r.accept("invisible"), r.accept("ignored"), r.accept("not", "ignored"):
		case r.accept("comment"):
			r.acceptSymbol('=')
			r.skip()
		default:
			cl.odd = true
			return true
		}
	}
	return true
}

// columns reads the parts of a key.
func (cl *clause) columns(list []piece) {
	r := cursor{list}
	for {
		name, ok := r.name()
		if !ok { // an expression
			cl.odd = true
			cl.parts = append(cl.parts, keyPart{column: "functional_index"}) // what MySQL names it after
			return
		}
		part := keyPart{name, true}
		if length, ok := r.group(); ok {
			part.whole = false
			cl.odd = cl.odd || len(length) != 1
		}
		if !r.accept("asc") && r.accept("desc") {
			part.whole = false
		}
		cl.parts = append(cl.parts, part)
		if !r.acceptSymbol(',') {
			cl.odd = cl.odd || len(r.p) > 0
			return
		}
	}
}

// keep notes what a key means for others.
func (c *creation) keep(cl *clause) bool {
	switch {
	case cl.kind == primaryClause:
		if c.PrimaryKey || cl.versioned {
			return false
		}
		c.PrimaryKey, c.primary = true, cl.parts
		c.fixed = c.fixed || cl.odd
	case cl.kind == foreignClause:
		text := c.text[cl.p[0].from:cl.p[len(cl.p)-1].to]
		if cl.versioned {
			text = bytes.TrimSpace(c.text[cl.from+1 : cl.to]) // with the marks
		}
		c.ForeignKeys = append(c.ForeignKeys, string(text))
		c.fixed = c.fixed || cl.name == "" || cl.versioned || cl.odd || cl.from < 0
	case cl.name == "":
		c.unnamed = append(c.unnamed, cl.parts[0].column)
	}
	return true
}

// options reads what stands behind the clauses.
func (c *creation) options(r *cursor) bool {
	for len(r.p) > 0 {
		switch {
		case r.acceptSymbol(','):
		case r.accept("with", "system", "versioning"):
			c.fixed = true
		case r.accept("partition", "by"):
			c.fixed = true
			for len(r.p) > 0 {
				if _, ok := r.group(); !ok && fromQuery(r.skip()) {
					return false
				}
			}
		default:
			if !c.option(r) {
				return false
			}
		}
	}
	return true
}

// fromQuery says that the rows, or the columns, come from what begins with the word.
func fromQuery(p piece) bool {
	switch strings.ToLower(string(p.text)) {
	case "select", "with", "table", "values", "as", "ignore", "replace", "like", "start":
		return p.kind == tokenWord
	}
	return false
}

// option reads an option of the table with its value.
func (c *creation) option(r *cursor) bool {
	r.accept("default")
	first := r.peek()
	charset := charsetWord(r)
	if !charset {
		if !first.isName() || first.kind == tokenString || fromQuery(first) {
			return false
		}
		if !r.accept("data", "directory") && !r.accept("index", "directory") {
			r.skip()
		}
	}
	r.acceptSymbol('=')
	if r.peek().symbol('(') {
		_, ok := r.group()
		return ok
	}
	r.acceptSymbol('-')
	value := r.skip()
	if !value.isName() || fromQuery(value) {
		return false
	}
	word := strings.ToLower(value.name())
	switch {
	case charset, first.is("collate"):
		c.charset = word
	case first.is("engine"):
		c.InnoDB = word == "innodb" && !value.versioned
	}
	return true
}
