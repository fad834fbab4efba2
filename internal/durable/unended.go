package durable

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB keeps accounts, rights and routines in tables of Aria. It writes their rows, logs the statement, waits for the
// acknowledgement, and ends the transaction of Aria then. Nothing connects that with the log: a snapshot in which such a
// statement waits has it in its log, and without its rows, since recovery takes them back. While a statement waits for
// the base backup that is made of the snapshot, all that is logged behind it is sure to wait; MariaDB lets no more than
// one group in there. If that is such a statement, the base ends before it.

// unended are statements that end in Aria after they were logged.
var unended = regexp.MustCompile(`(?is)^\s*(?:/\*.*?\*/\s*)*(?:` +
	`(?:CREATE(?:\s+OR\s+REPLACE)?|ALTER|DROP|RENAME)\s+(?:DEFINER\s*=.{1,200}?\s)?\s*(?:AGGREGATE\s+)?(?:USER|ROLE|PROCEDURE|FUNCTION|PACKAGE)\b` +
	`|GRANT\b|REVOKE\b|SET\s+(?:PASSWORD|DEFAULT\s+ROLE)\b)`)

// endsLate reports whether a statement of a server ends after it was logged, so that no snapshot has it while it waits.
func endsLate(s *server.Server, sql []byte) bool {
	return s.Flavour == server.MariaDB && unended.Match(sql)
}

// late reports whether an event is a statement that no base has while it waits: waiting for one would be in vain.
func (f *fences) late(e *binlog.Event) bool {
	if e.Type != binlog.QueryEvent {
		return false
	}
	q, err := binlog.ParseQuery(e)
	return err == nil && endsLate(f.server, q.SQL)
}

// end is logEnd, but for a statement at the end that the snapshot has not: see above.
func (s *Snapshot) end() (at archive.Position, gtids string, err error) {
	at, gtids, err = logEnd(s.DataDir)
	if err != nil || s.Fence == nil || s.Instance.Server.Flavour != server.MariaDB {
		return at, gtids, err
	}
	path := filepath.Join(s.DataDir, serverLog(at.File))
	var last binlog.Group
	if _, err := binlog.Scan(path, firstEvent, func(g binlog.Group) error {
		last = g
		return nil
	}); err != nil {
		return at, gtids, err
	}
	begins := archive.Position{File: at.File, Offset: last.Start}
	if last.Kind != binlog.Statement || last.End != at.Offset || !s.Fence.Before(begins) {
		return at, gtids, nil
	}
	if sql, err := statementIn(path, last); err != nil || !endsLate(s.Instance.Server, sql) {
		return at, gtids, err
	}
	enough := errors.New("that is all")
	x, err := binlog.Scan(path, firstEvent, func(g binlog.Group) error {
		if g.Start == last.Start {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		return at, gtids, err
	}
	return begins, x.GTIDs.String(), nil
}

// firstEvent is where the first event of a file begins.
const firstEvent = 4

// statementIn is the text of the statement that a group is.
func statementIn(path string, g binlog.Group) (sql []byte, err error) {
	err = eachEvent(path, g.Start, g.End, func(e *binlog.Event) error {
		if e.Type != binlog.QueryEvent {
			return nil
		}
		q, err := binlog.ParseQuery(e)
		sql = bytes.Clone(q.SQL)
		return err
	})
	return sql, err
}
