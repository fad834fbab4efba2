package reset

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// A foreign key to a table of another database changes rows when that table's change, and most servers do not
// log that. The key need not lead there itself: any table there may follow a third database. So whenever
// rows were changed or deleted in any other database that is no clone, whose tables nothing refers to, the tables
// that have such keys may have changed.

// part notes that a transaction changed or deleted rows of a database.
func (g *group) part(schema string) {
	if !slices.Contains(g.parts, schema) {
		g.parts = append(g.parts, schema)
	}
}

// noteParts counts what a transaction changed or deleted.
func (j *Journal) noteParts(g *group) {
	if j.cascadesLogged {
		return
	}
	for _, schema := range g.parts {
		if mark := j.marks[schema]; dbconn.SystemSchema(schema) || mark.shape != nil && mark.shape.Name != schema {
			continue
		}
		j.parts++
		j.parted[schema] = j.parts
	}
}

// Follow reads the log to its end, and notes the tables of a watched database that may have changed with those of others.
func (j *Journal) Follow(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	j.followed(name)
}

// followed is Follow. The caller holds j.mu.
func (j *Journal) followed(name string) {
	c, shape := j.watched[name], j.marks[name].shape
	if c == nil || shape == nil || len(shape.Following) == 0 {
		return
	}
	for schema, at := range j.parted {
		if schema == name || at <= c.since {
			continue
		}
		for _, table := range shape.Following {
			c.refill(table)
		}
		c.since = j.parts
		return
	}
}
