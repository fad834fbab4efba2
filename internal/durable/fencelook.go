package durable

import "github.com/ramaria-db/ramaria/internal/binlog"

// late reports whether an event is a statement that no base has while it waits: waiting for one would be in vain.
func (f *fences) late(e *binlog.Event) bool {
	if e.Type != binlog.QueryEvent {
		return false
	}
	q, err := binlog.ParseQuery(e)
	return err == nil && endsLate(f.server, q.SQL)
}
