package reset

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// What a clone's trigger or routine changes in a database that is no clone stays: it is shared. Of
// rows the log tells whose transaction it was, by the rows of the clone that changed with them, and
// on MySQL by the database of the session as well, which stands in its BEGIN.

// leave notes a table of a database that is not watched whose rows a transaction changed.
func (g *group) leave(m *binlog.TableMap) {
	const most = 20
	name := m.Schema + "." + m.Table
	if dbconn.SystemSchema(m.Schema) || len(g.outside) >= most || slices.Contains(g.outside, name) {
		return
	}
	g.outside = append(g.outside, name)
}

// warnOutside has those databases warn of what a transaction changed elsewhere whose it was.
func (j *Journal) warnOutside(g *group) {
	if len(g.outside) == 0 {
		return
	}
	of := map[string]bool{g.session: true}
	for _, change := range g.staged {
		of[change.Map.Schema] = true
	}
	for name := range of {
		if c := j.watched[name]; c != nil {
			for _, table := range g.outside {
				c.warn("it reaches beyond the database and stays: rows of " + table + " changed")
			}
		}
	}
}
