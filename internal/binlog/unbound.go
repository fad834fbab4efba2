package binlog

import (
	"fmt"
	"slices"
)

// Unbound is a group of rows that no engine commits, or a statement.
type Unbound struct {
	Group
	// Tables are those that the rows are of, SCHEMA.TABLE; none for a statement.
	Tables []string
	// SQL is the text of a statement.
	SQL []byte
}

// ScanUnbound is Scan for statements, and for groups of nothing but rows that end with COMMIT as a text: servers write an
// XID where an engine that commits has taken part.
func ScanUnbound(path string, each func(Unbound) error) (Extent, error) {
	s, ext, err := openScan(path, 0)
	if s != nil {
		defer s.l.f.Close()
		var u Unbound
		more := false // there is something else in the group
		s.events = func(e *Event) error {
			switch {
			case e.Type == TableMapEvent:
				name, err := tableOf(e)
				if err == nil && !slices.Contains(u.Tables, name) {
					u.Tables = append(u.Tables, name)
				}
				return err
			case e.Type.Rows() != NotRows, e.Type == AnnotateRowsEvent, e.Type == RowsQueryEvent:
			case e.Type == QueryEvent:
				text, err := queryText(e)
				more = more || err != nil || !isWord(text, "BEGIN") && !isWord(text, "COMMIT")
			default:
				more = true
			}
			return nil
		}
		s.statements = func(e *Event) error {
			q, err := ParseQuery(e)
			u.SQL = slices.Clone(q.SQL)
			return err
		}
		s.each = func(g Group) error {
			now, mixed := u, more
			u, more = Unbound{}, false
			now.Group = g
			if g.Kind == Statement || g.Kind == Transaction && len(now.Tables) > 0 && !mixed {
				return each(now)
			}
			return nil
		}
		err = s.run()
		ext = s.ext
	}
	if err != nil {
		err = fmt.Errorf("scan binary log: %w", err)
	}
	return ext, err
}

// tableOf is the table that a TABLE_MAP event is about.
func tableOf(e *Event) (string, error) {
	r := reader{b: e.Body, what: "TABLE_MAP event"}
	tableID(&r, e)
	r.uint(2) // flags
	schema, table := name(&r), name(&r)
	if r.err != nil {
		return "", located(r.err, e.Pos())
	}
	return schema + "." + table, nil
}
