package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB does what a statement like CREATE EVENT says, and logs it then. One that was at work when a base was made
// may be in the base, and behind its position in the log. It is refused when it is applied again: that what it makes is
// there already, or what it removes is not there any more. Of the statements that began before the base was made, and
// come first in the log behind it, such a refusal says that they are done.

// mostFlying is how many of them there can be, of all that come first in the log: as many as there may be sessions, and
// some.
const mostFlying = 1000

// doneErrors are what MariaDB answers to a statement that was done already.
//
// https://mariadb.com/kb/en/mariadb-error-code-reference/
var doneErrors = []int{
	1007, 1008, // a database exists, or not
	1050, 1051, 1146, 4091, 4092, // a table, sequence or view
	1054, 1060, 1061, 1068, 1091, 1826, // a column, index, key or constraint
	1304, 1305, // a routine
	1359, 1360, // a trigger
	1396, 1133, 1141, 1147, 1269, // an account or role, a right
	1493, 1496, 1505, 1507, 1508, 1517, // partitions
	1537, 1539, // an event
}

// flight is a statement that may have been at work when the base was made: where its group begins.
type flight struct {
	path  string
	start int64
}

// flying finds the statements at the beginning of the logs that began before the base was made.
func (j *Job) flying() (list []flight, err error) {
	if j.Server.Flavour != server.MariaDB || j.Made.IsZero() {
		return nil, nil
	}
	n := 0
	for _, l := range j.Logs {
		_, err := binlog.Scan(l.Path, max(firstEvent, l.From), func(g binlog.Group) error {
			if n++; n > mostFlying || l.To > 0 && g.Start >= l.To {
				return errEnough
			}
			if g.Kind == binlog.Statement && !g.Time.After(j.Made) {
				list = append(list, flight{l.Path, g.Start})
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ahead adds the groups of statements that the data has: the first of each, among those that may have been at work. One that
// began later says the same once more: the server may have logged no other, since what was at work ended in an error, or
// since it logs it in other words, as DROP TABLE of several tables.
func (j *Job) ahead(out groups) error {
	left, n := slices.Clone(j.Ahead), 0
	for _, l := range j.Logs {
		if n > mostFlying || len(left) == 0 {
			return nil
		}
		_, err := binlog.ScanStatements(l.Path, max(firstEvent, l.From), func(q *binlog.Query, g binlog.Group) error {
			if at := slices.Index(left, binlog.StatementID(q)); at >= 0 && !g.Time.After(j.Made) {
				left = slices.Delete(left, at, at+1)
				out.add(l.Path, g.Start)
			}
			if n++; n > mostFlying || len(left) == 0 || l.To > 0 && g.End >= l.To {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// errEnough ends a scan.
var errEnough = errors.New("that is all")

// passOver has the applier go on behind a statement that was done already, and reports whether it is one.
func (s *session) passOver(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	i, ok := s.part(state.File)
	if !ok || !slices.Contains(doneErrors, state.Errno) {
		return false, nil
	}
	path, start := s.plan.source(i, state.Pos)
	at := slices.Index(s.flights, flight{path, start})
	if at < 0 {
		return false, nil
	}
	s.flights = slices.Delete(s.flights, at, at+1) // it fails once
	return true, s.goOnBehind(ctx)
}

// goOnBehind has the applier go on behind the statement that it stopped at.
func (s *session) goOnBehind(ctx context.Context) error {
	if err := s.exec(ctx, "SET GLOBAL sql_slave_skip_counter = 1"); err != nil {
		return fmt.Errorf("pass over a statement: %w", err)
	}
	return s.startApplier(ctx)
}
