package durable

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB keeps accounts, rights and routines in tables of Aria. It writes their rows, logs the statement, waits for the
// acknowledgement, and ends the transaction of Aria then. Nothing connects that with the log: a snapshot in which such a
// statement waits has it in its log, and without its rows, since recovery takes them back. While a statement waits for
// the base backup that is made of the snapshot, all that is logged behind it is sure to wait; MariaDB lets no more than
// one group in there. If that is such a statement, the base ends before it.

// endsLate reports whether a statement of a server ends after it was logged, so that no snapshot has it while it waits.
func endsLate(s *server.Server, q *binlog.Query) bool {
	if s.Flavour != server.MariaDB {
		return false
	}
	of := repeatable.AboutOf(q).Subject
	return of == repeatable.Accounts || of == repeatable.Routine
}

// late reports whether an event of a server is a statement that no base has while it waits: waiting for one would be in vain.
func late(s *server.Server, e *binlog.Event) bool {
	if e.Type != binlog.QueryEvent {
		return false
	}
	q, err := binlog.ParseQuery(e)
	return err == nil && endsLate(s, &q)
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
	if q, err := statementIn(path, last); err != nil || !endsLate(s.Instance.Server, q) {
		return at, gtids, err
	}
	x, err := binlog.Scan(path, firstEvent, func(g binlog.Group) error {
		if g.Start == last.Start {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		return at, gtids, err
	}
	return begins, x.GTIDs.String(), nil
}

// firstEvent is where the first event of a file begins.
const firstEvent = 4

// statementIn is the statement that a group is.
func statementIn(path string, g binlog.Group) (*binlog.Query, error) {
	var q binlog.Query
	err := eachEvent(path, g.Start, g.End, func(e *binlog.Event) (err error) {
		if e.Type != binlog.QueryEvent {
			return nil
		}
		q, err = binlog.ParseQuery(e)
		q.SQL = bytes.Clone(q.SQL)
		return err
	})
	return &q, err
}

// mostUnended is how much of the end of a log may be of sessions that had not ended when the server was killed, in bytes.
const mostUnended = 1 << 20

// redoUnended does such statements at the end of the log, up to a position, once more. The server has recovered.
func (s *Snapshot) redoUnended(ctx context.Context, db *sql.DB, to archive.Position) error {
	list, err := s.perhapsUnended(to)
	if err != nil {
		return err
	}
	for _, q := range list {
		text, known := asSaid(q)
		if !known {
			continue
		}
		err := asLogged(ctx, db, q, func(conn *sql.Conn) error {
			before, err := grantors(ctx, db)
			if err != nil {
				return err
			}
			switch _, err := conn.ExecContext(ctx, text); {
			case dbconn.Refused(err): // it was done
				return nil
			case err != nil:
				return err
			}
			return putBackGrantors(ctx, db, conn, q.Invoker, before)
		})
		if err != nil {
			return fmt.Errorf("end a statement that the log has: %w", err)
		}
	}
	return nil
}

// asSaid is such a statement as another account may say it: with a name in the place of CURRENT_USER, which would be our own
// account. It is not known where the log does not say whose it is. A routine has its account by name, and its body is its own.
func asSaid(q *binlog.Query) (text string, known bool) {
	a := repeatable.AboutOf(q)
	if a.Subject == repeatable.Routine {
		return string(a.SQL), true
	}
	words := wordsAndQuotes
	if q.SQLMode&noBackslashEscapes != 0 {
		words = wordsAndQuotesVerbatim
	}
	known = true
	text = words.ReplaceAllStringFunc(string(a.SQL), func(piece string) string {
		if !currentUser.MatchString(piece) {
			return piece
		}
		known = known && q.Invoker != ""
		at := max(0, strings.LastIndexByte(q.Invoker, '@'))
		return dbconn.QuoteName(q.Invoker[:at]) + "@" + dbconn.QuoteName(strings.TrimPrefix(q.Invoker[at:], "@"))
	})
	return text, known
}

// noBackslashEscapes is a bit of sql_mode.
const noBackslashEscapes = 1 << 20

// wordsAndQuotes finds what of a statement is quoted, a comment, or CURRENT_USER; the other one is for noBackslashEscapes.
var (
	wordsAndQuotes         = regexp.MustCompile(`(?is)'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|` + notText)
	wordsAndQuotesVerbatim = regexp.MustCompile(`(?is)'[^']*'|"[^"]*"|` + notText)
	currentUser            = regexp.MustCompile(`(?i)^CURRENT_USER\b`)
)

const notText = "`[^`]*`" + `|/\*\*/|/\*[^!M].*?\*/|#[^\n]*|--\s[^\n]*|\bCURRENT_USER\b(?:\s*\(\s*\))?`

// grantTables are the tables that say who gave a right, and expressions for what a row of theirs is about.
var grantTables = map[string]string{
	"tables_priv": "HEX(CONCAT_WS('.', Host, Db, User, Table_name))",
	"procs_priv":  "HEX(CONCAT_WS('.', Host, Db, User, Routine_name, Routine_type))",
}

// grantors are who gave rights, by table and what they are about.
func grantors(ctx context.Context, db *sql.DB) (map[[2]string]string, error) {
	all := map[[2]string]string{}
	for table, about := range grantTables {
		err := dbconn.Query(ctx, db, "SELECT "+about+", Grantor FROM mysql."+table+" USE INDEX ()", func(row []string) error { // #nosec G202 -- constants
			all[[2]string{table, row[0]}] = row[1]
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// putBackGrantors has the rights that a statement has given once more be given by who said it, or gave them before.
func putBackGrantors(ctx context.Context, db *sql.DB, conn *sql.Conn, invoker string, before map[[2]string]string) error {
	after, err := grantors(ctx, db)
	if err != nil {
		return err
	}
	for of, is := range after {
		who, was := before[of]
		if who == is {
			continue
		}
		if invoker != "" {
			who = invoker
		} else if !was {
			continue
		}
		statement := "UPDATE mysql." + of[0] + " USE INDEX () SET Grantor = ?, Timestamp = Timestamp WHERE BINARY " + grantTables[of[0]] + " = BINARY ?" // #nosec G202 -- constants
		if _, err := conn.ExecContext(ctx, statement, who, of[1]); err != nil {
			return err
		}
	}
	return nil
}

// perhapsUnended are such statements at the end of the log up to a position: the last of either kind.
func (s *Snapshot) perhapsUnended(to archive.Position) (list []*binlog.Query, err error) {
	if s.Instance.Server.Flavour != server.MariaDB {
		return nil, nil
	}
	files, err := s.logFiles()
	if err != nil {
		return nil, err
	}
	if s.DataDir != s.Instance.DataDir() {
		// Of a server that runs: what it found when it was started it has ended, or it was done once more then.
		if files, err = sinceStart(files, to.File); err != nil {
			return nil, err
		}
	}
	type logged struct {
		*binlog.Query
		at int64 // in all of the log
	}
	var account, routine *logged
	var before int64
	dropped := false // a routine, behind account
	for _, f := range files {
		if f.number > to.File {
			break
		}
		x, err := binlog.ScanTouched(f.path, firstEvent, func(q *binlog.Query, g binlog.Group) error {
			if f.number == to.File && g.End > to.Offset {
				return errEnough
			}
			l, a := &logged{q, before + g.End}, repeatable.AboutOf(q)
			switch a.Subject {
			case repeatable.Routine:
				if dropped && ofRoutine.Match(account.SQL) {
					account = nil // its routine may be another one now, which has none of the rights of the one before
				}
				routine, dropped = l, account != nil && a.Drops
			case repeatable.Accounts:
				account, dropped = l, false
			case repeatable.Database: // and what had ended there
				routine = nil
			}
			return nil
		}, func(schema string) {
			if schema == ownSchema { // whose tables nobody else had locked then
				account, routine, dropped = nil, nil, false
			}
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
		before += x.End
	}
	for _, l := range []*logged{account, routine} {
		if l != nil && l.at > before-mostUnended {
			list = append(list, l.Query)
		}
	}
	return list, nil
}

// sinceStart are the files from the last one on, up to a number, that a server began when it was started.
func sinceStart(files []snapshotLog, last uint32) ([]snapshotLog, error) {
	for n, f := range slices.Backward(files) {
		if f.number > last {
			continue
		}
		switch begins, err := binlog.OfStart(f.path); {
		case err != nil:
			return nil, err
		case begins:
			return files[n:], nil
		}
	}
	return files, nil
}

// ofRoutine finds statements that may be about rights on a routine, which it takes away with it when it is removed.
var ofRoutine = regexp.MustCompile(`(?i)\b(?:PROCEDURE|FUNCTION|PACKAGE)\b`)

// ownSchema is the database of the server's own tables.
const ownSchema = "mysql"

// errEnough ends a scan.
var errEnough = errors.New("that is all")

// asLogged calls do with a connection that has the settings which an event has, and of which nothing is logged.
func asLogged(ctx context.Context, db *sql.DB, q *binlog.Query, do func(*sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // its settings end with it
	settings := []string{
		"SET SESSION sql_log_bin = 0, foreign_key_checks = 0, check_constraint_checks = 0, innodb_strict_mode = 0",
		fmt.Sprintf("SET SESSION sql_mode = %d, timestamp = %d", q.SQLMode, q.Time),
	}
	if q.CharsetClient != 0 {
		for _, of := range []struct {
			setting string
			id      uint16
		}{{"character_set_client", q.CharsetClient}, {"collation_connection", q.Connection}, {"collation_server", q.Server}} {
			charset, collation, err := dbconn.CollationOf(ctx, conn, of.id)
			if err != nil {
				return err
			}
			value := collation
			if of.setting == "character_set_client" {
				value = charset
			}
			settings = append(settings, "SET SESSION "+of.setting+" = "+value)
		}
	}
	if err := dbconn.ExecAll(ctx, conn, settings...); err != nil {
		return err
	}
	if q.Schema != "" {
		if err := dbconn.ExecAll(ctx, conn, "USE "+dbconn.QuoteName(q.Schema)); err != nil && !dbconn.Refused(err) { // it may be gone
			return err
		}
	}
	return do(conn)
}
