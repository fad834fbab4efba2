package reset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/template"
)

// An XA transaction that was prepared and has changed no row is not in the log, or without rows (where
// it wrote to tables that know no transactions), keeps its locks,
// and belongs to no connection once its connection is gone. The server tells its name, not its database.
// So the reset rolls back whatever is prepared, has no rows in the log, and belongs to no
// other connection: no row is lost by that. An application that prepares a
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
func prepared(into *[]binlog.XID) dbconn.Question {
	return dbconn.AskPrepared(func(format uint32, global, branch string) {
		*into = append(*into, binlog.XID{Format: format, Global: global, Branch: branch})
	})
}

// Begin records the XA transactions that are prepared before the first clone is made; they
// belong to others.
func (r *Engine) Begin(ctx context.Context, conn *sql.Conn) error {
	var list []binlog.XID
	r.Journal.heed(r.Leased, r.StandIn, r.Server.Family().Blinding(), r.Server.LogsCascades())
	if err := dbconn.Ask(ctx, conn, append(r.everybodys(), prepared(&list))...); err != nil {
		return fmt.Errorf("list prepared transactions: %w", err)
	}
	r.strangers.add(list)
	r.Journal.Recover(list)
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

// left returns those of the prepared transactions that were left and changed no rows.
func (r *Engine) left(ctx context.Context, s *Session, user string, list []binlog.XID) ([]binlog.XID, error) {
	if r.strangers.lost(r.Journal.Losses()) {
		r.strangers.add(list)
	}
	list = slices.DeleteFunc(list, func(x binlog.XID) bool { return r.strangers.has(x) || r.Journal.Logged(x) })
	if len(list) == 0 {
		return nil, nil
	}
	others := map[string]bool{}
	if err := r.Server.Dialect().PreparedByOthers(ctx, s.Conn, user, func(format uint32, global, branch string) {
		others[binlog.XID{Format: format, Global: global, Branch: branch}.String()] = true
	}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x binlog.XID) bool { return others[x.String()] }), nil
}

// heldPoll is how often transactions that connections have are looked at again.
const heldPoll = 2 * time.Millisecond

// release rolls back those of the prepared transactions that changed no row and belong to the user
// of a database or to no account. One that has done nothing at all MariaDB shows in no list of
// transactions while its connection has it. So where one is still had after workPatience, which is
// more than an application takes from PREPARE to its verdict, all connections of the user are
// ended: release reports that. What stays then is another account's, and no reason to end them again.
func (r *Engine) release(ctx context.Context, s *Session, d *Database, names []binlog.XID) (ended bool, err error) {
	var suspects map[string]bool // those that have been had all the time
	for since := time.Now(); ; {
		left, err := r.left(ctx, s, d.User, names)
		if err != nil {
			return ended, err
		}
		held, err := r.rollBack(ctx, s, left)
		if err != nil {
			return ended, err
		}
		now := map[string]bool{}
		for _, x := range held {
			if name := x.String(); suspects == nil || suspects[name] {
				now[name] = true
			}
		}
		suspects = now
		maps.DeleteFunc(d.foreign, func(name string, _ bool) bool { return !suspects[name] })
		if len(suspects) == len(d.foreign) {
			return ended, nil
		}
		if time.Since(since) >= workPatience {
			mine, err := s.connections(ctx, d.User)
			if err != nil {
				return ended, err
			}
			if ended || len(mine) == 0 {
				d.foreign = suspects
				return ended, nil
			}
			if err := s.kill(ctx, mine); err != nil {
				return ended, err
			}
			ended, since = true, time.Now()
		}
		select {
		case <-ctx.Done():
			return ended, fmt.Errorf("wait for prepared transactions: %w", ctx.Err())
		case <-time.After(heldPoll):
		}
		names = names[:0]
		if err := dbconn.Ask(ctx, s.Conn, prepared(&names)); err != nil {
			return ended, fmt.Errorf("list prepared transactions: %w", err)
		}
	}
}

// rollBack rolls prepared transactions back, and returns those that it could not: they had their
// verdict, which the log will tell, or a connection has them.
func (r *Engine) rollBack(ctx context.Context, s *Session, list []binlog.XID) (held []binlog.XID, err error) {
	for _, x := range list {
		err := s.exec(ctx, "XA ROLLBACK "+x.String())
		switch {
		case err == nil, dbconn.RolledBackXID(err):
			r.Journal.RolledBack(x)
		case dbconn.NoSuchXID(err):
			held = append(held, x)
		default:
			return held, fmt.Errorf("roll back a prepared transaction: %w", err)
		}
	}
	return held, nil
}

// RollBackPrepared rolls back the XA transactions that are prepared in a database, and ends the connections of its user
// that have them. It comes before other connections are ended: on MariaDB a statement that waits in InnoDB for what such a
// transaction has locked, as ALTER TABLE does, goes on waiting when its connection is ended, until
// innodb_lock_wait_timeout, and keeps others from the table meanwhile.
func (r *Engine) RollBackPrepared(ctx context.Context, s *Session, d *Database) error {
	names := r.Journal.Prepared(d.Name)
	if len(names) == 0 {
		return nil
	}
	// A connection is gone before InnoDB has let go of its transaction, which would be rolled back in name only.
	for {
		open, err := r.Server.Dialect().OpenTransactions(ctx, s.Conn, d.User)
		if errors.Is(err, dbconn.ErrUnseen) {
			return nil // all connections of the user are ended anyway
		}
		if err != nil {
			return err
		}
		var owners []uint64
		for _, t := range open {
			if t.Prepared {
				owners = append(owners, t.Thread)
			}
		}
		if len(owners) == 0 {
			_, err := r.rollBack(ctx, s, names)
			return err
		}
		if err := s.kill(ctx, owners); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for prepared transactions: %w", ctx.Err())
		case <-time.After(gonePoll):
		}
	}
}

// dropTries is how often prepared transactions are looked for that keep a database from being
// dropped: a connection that was ended lets go of its own a moment later.
const dropTries = 3

// Drop drops a database and rolls back the XA transactions that are prepared in it. Its user
// must have no connection any more.
func (r *Engine) Drop(ctx context.Context, s *Session, d *Database) error {
	for try := 1; ; try++ {
		var list []binlog.XID
		if err := dbconn.Ask(ctx, s.Conn, prepared(&list)); err != nil {
			return fmt.Errorf("list prepared transactions: %w", err)
		}
		if len(list) > 0 {
			left, err := r.left(ctx, s, d.User, list)
			if err == nil {
				_, err = r.rollBack(ctx, s, append(left, r.Journal.Prepared(d.Name)...))
			}
			if err != nil {
				return err
			}
		}
		err := template.Drop(ctx, s.Conn, d.Name, r.Journal.dir)
		if err == nil || !dbconn.LockTimeout(err) || try == dropTries {
			return err
		}
	}
}
