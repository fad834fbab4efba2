package rewind

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// An XA transaction that was prepared and has changed no row is not in the log, keeps its locks,
// and belongs to nobody once its connection is gone. The server tells its name, not its database.
// What is rolled back is therefore whatever is prepared, is not in the log, and belongs to no
// connection of somebody else's: no row is lost by that. An application that prepares a
// transaction that only read, leaves its connection, and decides from another, meets "unknown XID"
// if a clone is reset in between.

// strangers are the prepared transactions of which the log does not tell whether they changed rows:
// those that were there before it was followed.
type strangers struct {
	mu    sync.Mutex
	names map[string]bool
	// losses is how often the log had been lost when they were last looked for.
	losses int
}

// prepared asks for the names of all prepared transactions.
func prepared(into *[]binlog.XID) server.Question {
	return server.Question{Text: "XA RECOVER", Row: func(rows *sql.Rows) error {
		var format uint32
		var global, branch int
		var data []byte
		if err := rows.Scan(&format, &global, &branch, &data); err != nil {
			return err
		}
		if global < 0 || branch < 0 || global+branch > len(data) {
			return fmt.Errorf("list prepared transactions: a name of %d and %d bytes in %d", global, branch, len(data))
		}
		*into = append(*into, binlog.XID{Format: format, Global: string(data[:global]), Branch: string(data[global : global+branch])})
		return nil
	}}
}

// Begin notes the prepared transactions that there are before any clone is.
func (r *Rewinder) Begin(ctx context.Context, conn *sql.Conn) error {
	var list []binlog.XID
	if err := server.Ask(ctx, conn, prepared(&list)); err != nil {
		return fmt.Errorf("list prepared transactions: %w", err)
	}
	r.strangers.add(list)
	return nil
}

func (s *strangers) add(list []binlog.XID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]bool{}
	}
	for _, x := range list {
		s.names[x.String()] = true
	}
}

// has reports whether a transaction may have changed rows that the log does not tell.
func (s *strangers) has(x binlog.XID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[x.String()]
}

// lost reports whether the log was lost since the last call; losses is how often it was until now.
func (s *strangers) lost(losses int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.losses
	s.losses = losses
	return losses != was
}

// left returns those of the prepared transactions that somebody left who changed no rows.
func (r *Rewinder) left(ctx context.Context, s *Session, user string, list []binlog.XID) ([]binlog.XID, error) {
	if r.strangers.lost(r.Journal.Losses()) {
		r.strangers.add(list)
	}
	list = slices.DeleteFunc(list, func(x binlog.XID) bool { return r.strangers.has(x) || r.Journal.Logged(x) })
	if len(list) == 0 {
		return nil, nil
	}
	others := map[string]bool{}
	if err := r.Server.PreparedByOthers(ctx, s.Conn, user, func(format uint32, global, branch string) {
		others[binlog.XID{Format: format, Global: global, Branch: branch}.String()] = true
	}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x binlog.XID) bool { return others[x.String()] }), nil
}

// rollBack rolls prepared transactions back.
func (r *Rewinder) rollBack(ctx context.Context, s *Session, list []binlog.XID) error {
	for _, x := range list {
		err := s.exec(ctx, "XA ROLLBACK "+x.String())
		switch {
		case err == nil, server.RolledBackXID(err):
			r.Journal.RolledBack(x)
		case !server.NoSuchXID(err): // it had its verdict, which the log will tell, or a connection still has it
			return fmt.Errorf("roll back a prepared transaction: %w", err)
		}
	}
	return nil
}

// dropTries is how often prepared transactions are looked for that keep a database from being
// dropped: a connection that was ended lets go of its own a moment later.
const dropTries = 3

// Drop removes a database whose user has no connection any more, with the transactions that are
// prepared in it.
func (r *Rewinder) Drop(ctx context.Context, s *Session, d *Database) error {
	for try := 1; ; try++ {
		var list []binlog.XID
		if err := server.Ask(ctx, s.Conn, prepared(&list)); err != nil {
			return fmt.Errorf("list prepared transactions: %w", err)
		}
		if len(list) > 0 {
			left, err := r.left(ctx, s, d.User, list)
			if err == nil {
				err = r.rollBack(ctx, s, append(left, r.Journal.Prepared(d.Name)...))
			}
			if err != nil {
				return err
			}
		}
		err := template.Drop(ctx, s.Conn, d.Name)
		if err == nil || !server.LockTimeout(err) || try == dropTries {
			return err
		}
	}
}
