package repeatable

import "strings"

// keys are the primary keys of the tables that are known. A table that is not in it, or whose
// entry is nil, is one of which nothing is known.
type keys map[string]*key

// key is a table's primary key.
type key struct {
	// name is the table's as it was written first. Where it is written otherwise, it may be another
	// table or the same, by lower_case_table_names: then nothing is known of either.
	name Table
	// columns are in lower case, and none if there is no such key.
	columns []string
	// doubt says that there are two ways of writing the name.
	doubt bool
}

func (t Table) fold() string { return strings.ToLower(t.Schema) + "\x00" + strings.ToLower(t.Name) }

// get returns the columns of a table's primary key, and whether they are known.
func (k keys) get(t Table) ([]string, bool) {
	e := k[t.fold()]
	if e == nil || e.doubt || e.name != t {
		return nil, false
	}
	return e.columns, true
}

// set remembers a table's primary key.
func (k keys) set(t Table, columns []string) {
	e := k[t.fold()]
	switch {
	case e == nil:
		folded := make([]string, len(columns))
		for i, c := range columns {
			folded[i] = strings.ToLower(c)
		}
		k[t.fold()] = &key{name: t, columns: folded}
	case e.name != t || e.doubt:
		e.doubt = true
	default:
		delete(k, t.fold())
		k.set(t, columns)
	}
}

// forget is for a table that is gone, or of which nothing is known any longer.
func (k keys) forget(t Table) {
	if e := k[t.fold()]; e != nil && (e.name != t || e.doubt) {
		e.doubt = true
		return
	}
	delete(k, t.fold())
}

// forgetSchema is for a database that is gone.
func (k keys) forgetSchema(schema string) {
	prefix := Table{Schema: schema}.fold()
	for folded := range k {
		if strings.HasPrefix(folded, prefix) {
			delete(k, folded)
		}
	}
}

// any reports whether a table of the database is known.
func (k keys) any(schema string) bool {
	prefix := Table{Schema: schema}.fold()
	for folded := range k {
		if strings.HasPrefix(folded, prefix) {
			return true
		}
	}
	return false
}

// keyChange is what an ALTER TABLE does to a primary key.
type keyChange struct {
	// before is the key as it was, if that is known.
	before   []string
	wasKnown bool
	// added is the key that is added, if hasAdded; perhaps says that it may be there already.
	added             []string
	hasAdded, perhaps bool
	dropped           bool
	// loose says that clauses may do nothing, since what they are of is not there.
	loose bool
	// from and to are columns that are renamed, lost those that are dropped.
	from, to, lost []string
}

func (c *keyChange) add(columns []string, perhaps bool) {
	c.added, c.hasAdded, c.perhaps = columns, true, c.perhaps || perhaps
}

func (c *keyChange) rename(from, to string) {
	if !strings.EqualFold(from, to) {
		c.from, c.to = append(c.from, from), append(c.to, to)
	}
}

func (c *keyChange) lose(column string) { c.lost = append(c.lost, column) }

// after returns the key that the table has then, and whether that is known. Where clauses of the
// same statement may mean each other, it is not.
func (c *keyChange) after() ([]string, bool) {
	columns, known := c.before, c.wasKnown
	switch {
	case c.perhaps, c.loose && (c.hasAdded || c.dropped || len(c.from) > 0):
		return nil, false
	case c.hasAdded:
		columns, known = c.added, true
	case c.dropped:
		return nil, true
	}
	if !known {
		return nil, false
	}
	for _, l := range c.lost {
		if has(columns, l) {
			return nil, false
		}
	}
	touching := 0
	result := columns
	for i, from := range c.from {
		if !has(columns, from) && !has(columns, c.to[i]) {
			continue
		}
		touching++
		if len(columns) == 1 && has(columns, from) {
			result = []string{c.to[i]}
		}
	}
	if touching > 1 || touching > 0 && (c.hasAdded || len(columns) != 1 || !has(columns, c.from[0]) && len(c.from) == 1) {
		return nil, false
	}
	return result, true
}

// has reports whether a column is one of them, in any case.
func has(columns []string, name string) bool {
	for _, c := range columns {
		if strings.EqualFold(c, name) {
			return true
		}
	}
	return false
}
