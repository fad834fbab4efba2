// Package xa makes what a server has of prepared XA transactions what its binary log says of them.
//
// MariaDB does not do that when it recovers (MDEV-21469). It logs PREPARE before InnoDB does it, waits for who
// acknowledges, and so does COMMIT: of a server that was killed in between, the log has a transaction prepared of which
// InnoDB knows nothing, or committed that InnoDB has prepared still. What applications do then the log cannot repeat, and
// a snapshot of the data would lack what the log goes on from.
//
// One that is committed in one phase is in the log without its name: see onephase.go.
//
// The invariant: after Settle a transaction is prepared, or committed, in the server exactly if it is in the log. The log
// is not written to: what was logged is right, and others have it.
package xa

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Log is what a binary log says of XA transactions.
type Log struct {
	// Steps are the last group about each, by their names.
	Steps map[string]Step
	// files are the paths of its files.
	files []string
}

// Step is a group about an XA transaction, and the path of its file.
type Step struct {
	binlog.XAGroup
	Path string
}

// ReadLog reads the files of a log, called base, in a directory.
func ReadLog(dir, base string) (Log, error) {
	files, err := binlog.Files(dir, base)
	if err != nil {
		return Log{}, err
	}
	l := Log{Steps: map[string]Step{}}
	for _, name := range files {
		path := filepath.Join(dir, name)
		l.files = append(l.files, path)
		if _, err := binlog.ScanXA(path, func(g binlog.XAGroup) error {
			l.Steps[g.Name] = Step{g, path}
			return nil
		}); err != nil {
			return Log{}, err
		}
	}
	return l, nil
}

// Done is what Settle has done, in names.
type Done struct {
	// Prepared, Committed and RolledBack are those that it did that to.
	Prepared, Committed, RolledBack []string
	// Redone are those transactions of the log, by where they begin, that it did once more.
	Redone []string
	// Unsure are prepared still, since they may have been before the log begins; but some are committed in the log.
	Unsure []string
	// All are prepared now.
	All []string
}

// Any reports whether there was anything to do.
func (d Done) Any() bool {
	return len(d.Prepared)+len(d.Committed)+len(d.RolledBack)+len(d.Redone) > 0
}

// Recovered is what there is to know of a server that has recovered, besides its log.
type Recovered struct {
	// Known, unless nil, returns the names of all that were prepared before the log begins, and nil where nobody knows. It is
	// called if the server has some prepared that are not in the log.
	Known func() (map[string]bool, error)
	// Committed is as the function of that name says.
	Committed binlog.Position
}

// Settle makes what a server has, to which nobody else connects, what its log says.
func (l Log) Settle(ctx context.Context, db *sql.DB, r Recovered) (Done, error) {
	s := &settling{log: l, recovered: r, db: db}
	err := s.run(ctx)
	if err != nil {
		err = fmt.Errorf("settle XA transactions: %w", err)
	}
	return s.done, err
}

// settling is one call of Settle.
type settling struct {
	log       Log
	recovered Recovered
	db        *sql.DB
	done      Done
}

func (s *settling) run(ctx context.Context) error {
	var names []string
	if err := s.unlogged(ctx, func(conn *sql.Conn) (err error) {
		names, err = prepared(ctx, conn)
		return err
	}); err != nil {
		return err
	}
	has, unlogged := map[string]bool{}, []string{}
	for _, name := range names {
		has[name] = true
		if _, logged := s.log.Steps[name]; !logged {
			unlogged = append(unlogged, name)
		}
	}
	unknown, sure, err := s.unknown(unlogged)
	if err != nil {
		return err
	}
	if err := s.mend(ctx, unknown, sure); err != nil { // first, since what is prepared holds locks
		return err
	}
	for _, name := range names {
		if slices.Contains(unknown, name) {
			continue
		}
		if err := s.settle(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.log.Steps)) {
		step := s.log.Steps[name]
		if step.Step != binlog.XAPrepares || has[name] {
			continue
		}
		if err := s.unlogged(ctx, func(conn *sql.Conn) error { return prepare(ctx, conn, name, step) }); err != nil {
			return fmt.Errorf("prepare %s as the log has it: %w", name, err)
		}
		s.done.Prepared, s.done.All = append(s.done.Prepared, name), append(s.done.All, name)
	}
	return nil
}

// unknown are those of some names that were not prepared before the log begins, and whether that is sure.
func (s *settling) unknown(names []string) (list []string, sure bool, err error) {
	if len(names) == 0 || s.recovered.Known == nil {
		return names, false, nil
	}
	known, err := s.recovered.Known()
	return slices.DeleteFunc(names, func(name string) bool { return known[name] }), known != nil, err
}

// unlogged calls f with a connection of which nothing is logged, and ends it: one that has prepared a transaction can
// do nothing else before that has its verdict.
func (s *settling) unlogged(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if err := exec(ctx, conn, "SET SESSION sql_log_bin = 0"); err != nil {
		return err
	}
	return f(conn)
}

// settle does what the log says of a transaction that the server has prepared, if it says anything.
func (s *settling) settle(ctx context.Context, name string) error {
	switch s.log.Steps[name].Step {
	case binlog.XACommits:
		return s.end(ctx, "XA COMMIT ", []string{name}, &s.done.Committed)
	case binlog.XARollsBack:
		return s.end(ctx, "XA ROLLBACK ", []string{name}, &s.done.RolledBack)
	}
	s.done.All = append(s.done.All, name)
	return nil
}

// prepare prepares a transaction as the log has it.
func prepare(ctx context.Context, conn *sql.Conn, name string, step Step) error {
	format, rows, err := binlog.RowStatements(step.Path, step.Group)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BINLOG '"+string(format.Base64())+"'"); err != nil {
		return err
	}
	if err := exec(ctx, conn, "XA START "+name); err != nil {
		return err
	}
	for _, events := range rows { // should it fail, the end of the connection rolls it back
		if _, err := conn.ExecContext(ctx, "BINLOG '"+string(events.Text)+"'"); err != nil {
			return err
		}
	}
	return errors.Join(exec(ctx, conn, "XA END "+name), exec(ctx, conn, "XA PREPARE "+name))
}

func exec(ctx context.Context, conn *sql.Conn, text string) error {
	if _, err := conn.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// prepared are the names of the transactions that a server has prepared.
func prepared(ctx context.Context, conn *sql.Conn) (list []string, err error) {
	err = dbconn.Ask(ctx, conn, dbconn.AskPrepared(func(format uint32, global, branch string) {
		list = append(list, binlog.XID{Format: format, Global: global, Branch: branch}.String())
	}))
	return list, err
}
