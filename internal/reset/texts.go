package reset

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// query takes in a statement that was logged as text.
func (j *Journal) query(e *binlog.Event) error {
	q, err := binlog.ParseQuery(e)
	if err != nil {
		return err
	}
	sql := string(q.SQL)
	kind := effectOf(sql)
	switch kind {
	case begin:
		j.reset()
		j.group.session = q.Schema
	case commit:
		j.commit()
	case rollback:
		// It is only written where a table that knows no transactions was changed as well.
		j.group.undone = len(j.group.staged)
		j.commit()
	case rollbackTo:
		j.group.undone = len(j.group.staged)
	case savepoint, xaOther, harmless:
	case xaCommit, xaRollback:
		j.verdict(sql, kind)
	default:
		j.statement(q, sql, kind)
	}
	return nil
}

// verdict ends an XA transaction that was prepared.
func (j *Journal) verdict(sql string, kind effect) {
	// "XA COMMIT X'61',X'',1", as the server writes it whatever it was given.
	_, id, _ := strings.Cut(strings.TrimSpace(sql)[len("XA "):], " ")
	id = strings.ReplaceAll(id, " ", "")
	if kind == xaRollback {
		id = strings.TrimSpace(id)
	}
	if g := j.prepared[id]; g != nil && kind == xaCommit {
		j.count(g)
		for name := range g.schemas {
			seen := slices.ContainsFunc(g.staged, func(ch binlog.Change) bool { return ch.Map.Schema == name })
			if c := j.watched[name]; c != nil && !seen {
				c.incomplete("a transaction changed it that was prepared before it was watched")
			}
		}
	}
	delete(j.prepared, id)
	j.reset()
}

// statement notes a statement with every watched database that it may be about: that of
// its session, those that the server names, and those whose names stand in it before a
// dot. A table may well be called as a database is. Where the server names none (MariaDB),
// or says that they are too many (MySQL, of every CREATE TABLE ... SELECT), the text tells.
func (j *Journal) statement(q binlog.Query, sql string, kind effect) {
	if len(j.group.staged) > 0 { // it cannot stand in a transaction; should it, that counts
		j.group.undone = len(j.group.staged)
		j.commit()
	}
	foreign := !isASCII(sql) && !speaksUTF8(q.CharsetClient)
	mentioned, qualifies := map[string]bool{}, map[string]bool{}
	for _, n := range names(sql) {
		mentioned[n.text] = true
		if n.qualifies || kind == database || kind == unknown || kind == wide || altersDatabase(sql) {
			qualifies[n.text] = true
		}
	}
	j.changeRights(sql, kind, mentioned, q.Schema == accountSchema || qualifies[accountSchema])
	if kind == wide {
		j.strengthens(sql, mentioned)
	}
	if kind == structural && j.makesProcedure(sql, q.Schema, mentioned) {
		j.rights.Routines++
	}
	for name, c := range j.watched {
		own := q.Schema == name
		named := slices.Contains(q.Updated, name) || qualifies[strings.ToLower(name)] || foreign && !isASCII(name)
		if kind == wide {
			if own || named {
				c.warn("it reaches beyond the database and stays: " + firstWords(sql, 2))
			}
			continue
		}
		if !own && !named {
			continue
		}
		switch {
		case foreign && kind == structural:
			c.incomplete("a statement in another character set than UTF-8: " + firstWords(sql, 2))
		case kind == structural:
			c.touch(mentioned)
		case kind == database:
			if named { // others are made and removed from anywhere
				c.incomplete("the whole database was made or removed: " + firstWords(sql, 2))
			}
		default:
			c.incomplete("a statement that is not understood: " + firstWords(sql, 2))
		}
	}
	j.reset()
}
