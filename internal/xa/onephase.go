package xa

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// XA COMMIT ... ONE PHASE, by which transaction managers end what has one resource alone: MariaDB prepares it in InnoDB
// under its name, logs it as an ordinary transaction, without the name, waits for the acknowledgement, and commits it.
// Of a server that was killed meanwhile, InnoDB has a transaction prepared that is in the log, committed, among others
// of which the log knows nothing. Its recovery commits ordinary ones only, since it knows those by the log's XID events.
//
// What was not committed holds the locks of its rows still. So a transaction of the log whose rows cannot be changed is
// one of those; and where there are as many as prepared ones that the log does not explain, all of these are committed.
// Else some were never logged. They are rolled back one by one, and what the log has of which that takes the rows away
// is done again from the log.

// mend has the data hold what the log has of transactions that are prepared, and that the log does not know by their names.
// It goes from one to the next, so that as little as possible hangs on this process going on. Unless it is
// known that they were not prepared before the log begins, what is not sure stays.
func (s *settling) mend(ctx context.Context, names []string, known bool) error {
	if len(names) == 0 {
		return nil
	}
	lost, err := s.lost(ctx, len(names))
	if err != nil {
		return err
	}
	for ; len(names) > 0; names = names[1:] {
		switch sure := len(lost) == len(names) && !slices.ContainsFunc(lost, func(g *group) bool { return !g.sure }); {
		case sure:
			return s.end(ctx, "XA COMMIT ", names, &s.done.Committed)
		case !known:
			s.done.All = append(s.done.All, names...)
			if len(lost) > 0 {
				s.done.Unsure = names
			}
			return nil
		}
		if err := s.end(ctx, "XA ROLLBACK ", names[:1], &s.done.RolledBack); err != nil {
			return err
		}
		if lost, err = s.redo(ctx, lost, len(names) == 1); err != nil {
			return err
		}
	}
	return nil
}

// end ends transactions by a verb, and notes that.
func (s *settling) end(ctx context.Context, verb string, names []string, done *[]string) error {
	return s.unlogged(ctx, func(conn *sql.Conn) error {
		for _, name := range names {
			if err := exec(ctx, conn, verb+name); err != nil {
				return err
			}
			*done = append(*done, name)
		}
		return nil
	})
}

// lost are those groups at the end of the log that were not committed, of which so many are looked for.
func (s *settling) lost(ctx context.Context, want int) ([]*group, error) {
	before, behind, err := s.log.tail(s.recovered.Committed)
	if err != nil {
		return nil, err
	}
	t := &trial{settling: s, tables: map[string]*table{}}
	lost, err := t.lost(ctx, behind)
	if err == nil && len(lost) < want { // the position may be one of another log: of a base that this one goes on from
		var more []*group
		more, err = t.lost(ctx, before)
		lost = slices.Concat(more, lost)
	}
	return lost, err
}

// redo does those groups whose rows nobody has any more; what it returns waits for others that are prepared, unless those
// were the last.
func (s *settling) redo(ctx context.Context, lost []*group, last bool) (waiting []*group, err error) {
	t := &trial{settling: s, tables: map[string]*table{}, stays: true}
	for _, g := range lost {
		if g.keyless && !last { // whose it is cannot be told: it could be there twice
			waiting = append(waiting, g)
			continue
		}
		is, err := t.do(ctx, g)
		switch {
		case err != nil:
			return nil, err
		case is == done:
			s.done.Redone = append(s.done.Redone, g.String())
		case is == locked && last && g.sure:
			return nil, fmt.Errorf("do the transaction at %s again: its rows are locked", g)
		case is == locked && !last:
			waiting = append(waiting, g)
		}
	}
	return waiting, nil
}
