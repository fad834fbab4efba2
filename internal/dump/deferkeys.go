package dump

import (
	"bytes"
	"slices"
	"strings"
)

// deferKeys finds the keys that can be made later, and the statement without them. Keys that a
// server sorts among each other keep their order: those that stay come first.
func (c *creation) deferKeys() {
	if c.fixed || !c.InnoDB || !c.PrimaryKey {
		return
	}
	var later [foreignClause + 1]bool // a key of this kind stays further behind
	found := false
	for i := len(c.clauses) - 1; i >= 0; i-- {
		cl := &c.clauses[i]
		switch cl.kind {
		case uniqueClause, keyClause, lastClause:
			stays, ok := c.stays(cl)
			if !ok {
				return
			}
			cl.stays = stays || later[cl.kind]
			later[cl.kind] = cl.stays
			found = found || !cl.stays
		case foreignClause:
			if !slices.ContainsFunc(c.clauses, func(key clause) bool { return key.serves(cl.parts) }) &&
				!(&clause{kind: primaryClause, parts: c.primary}).serves(cl.parts) {
				return // the server would make a key
			}
		default:
			cl.stays = true
		}
	}
	if found {
		c.cut()
	}
}

// stays says that a key cannot be deferred; false if not even its columns are known. A UNIQUE one finds
// the row that has a value again when that comes; made later, it could not tell which one it was.
func (c *creation) stays(cl *clause) (stays, ok bool) {
	stays = cl.kind == uniqueClause || cl.odd || cl.versioned || cl.name == "" || cl.from < 0 ||
		strings.EqualFold(cl.name, "FTS_DOC_ID_INDEX") // InnoDB makes its own if it is missing
	for i, part := range cl.parts {
		n := slices.IndexFunc(c.Columns, func(col Column) bool { return strings.EqualFold(col.Name, part.column) })
		switch {
		case n < 0 && cl.odd:
		case n < 0:
			return false, false
		case c.Columns[n].Generated, i == 0 && n == c.AutoIncrement && !strings.EqualFold(c.primary[0].column, part.column):
			stays = true
		}
	}
	// The server names a key a, a_2 or a_3 after its column a, whichever is free.
	for _, column := range c.unnamed {
		if n := len(column); len(cl.name) >= n && strings.EqualFold(cl.name[:n], column) && (len(cl.name) == n || cl.name[n] == '_') {
			stays = true
		}
	}
	return stays, true
}

// serves says that a foreign key on these columns needs no other key.
func (cl *clause) serves(columns []keyPart) bool {
	if len(cl.parts) < len(columns) || cl.odd || cl.versioned || cl.kind == foreignClause || cl.kind != primaryClause && cl.name == "" {
		return false
	}
	for i, part := range columns {
		if !cl.parts[i].whole || !strings.EqualFold(cl.parts[i].column, part.column) {
			return false
		}
	}
	return true
}

// cut writes the statement without the clauses that do not stay.
func (c *creation) cut() {
	kept := 0
	for _, cl := range c.clauses {
		if cl.stays {
			continue
		}
		from, to := cl.p[0].from, cl.p[len(cl.p)-1].to
		if cl.kind != foreignClause {
			c.Keys = append(c.Keys, string(c.text[from:to]))
		}
		c.Bare = append(c.Bare, c.text[kept:cl.from]...)
		if comments := c.text[cl.from+1 : from]; len(bytes.TrimSpace(comments)) > 0 {
			c.Bare = append(c.Bare, comments...)
		}
		kept = to
	}
	c.Bare = append(c.Bare, c.text[kept:]...)
}
