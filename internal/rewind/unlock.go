package rewind

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// patience is how long a database is worked on before anybody looks whether a lock stands in the
	// way, and looks how often it is looked at then, up to rareLooks while nothing waits: nearly all
	// resets are over before the first.
	patience  = 10 * time.Millisecond
	looks     = 5 * time.Millisecond
	rareLooks = 20 * time.Millisecond
	// longestWait is for how long a statement waits for a lock on the template or on everything, and
	// longestOwn for one on the database itself of which nobody knows whose it is: the purge of many
	// deleted rows holds one for some tenths of a second.
	longestWait = 50 * time.Millisecond
	longestOwn  = 2 * time.Second
	// rowLooks is how often the holders of locks on rows are asked for: MariaDB's answer is a copy
	// that is renewed only if nobody has asked for a tenth of a second.
	rowLooks = 120 * time.Millisecond
)

// ErrLocked says that a lock of a session that has another account stands in the way.
var ErrLocked = errors.New("a lock of another connection stands in the way")

// unlocker looks, on a connection of its own, at what a session waits for while it works on a
// database, and ends the connections that hold it: first those of the database's own account, then
// those that are in the database. Neither server tells whose a metadata lock is without
// instruments that cost more than all of this, so that what waits even then is ended itself.
type unlocker struct {
	*Rewinder
	d  *Database
	me uint64 // the session's connection

	// statement waits since then, and own and others say what was done about that.
	statement   string
	since       time.Time
	own, others bool
	rowsAsked   time.Time

	// warnings say whose connections were ended, and gaveUp what for a statement was waiting that was
	// ended.
	warnings []string
	gaveUp   string
}

// Unlocked has f work on a database, in a session, and ends whatever holds locks on it meanwhile. It
// returns what the caller is to be told of that.
func (r *Rewinder) Unlocked(ctx context.Context, s *Session, d *Database, f func() error) ([]string, error) {
	if r.DB == nil {
		return nil, f()
	}
	me, err := s.id(ctx)
	if err != nil {
		return nil, err
	}
	u := &unlocker{Rewinder: r, d: d, me: me}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(over)
		u.watch(watching)
	})
	err = f()
	if cancel(); !timer.Stop() {
		<-over
	}
	if u.gaveUp == "" {
		return u.warnings, err
	}
	// It may have been ended just as it went on, and the next statement would be in its place.
	_ = s.exec(context.WithoutCancel(ctx), "DO 0")
	if err != nil {
		err = fmt.Errorf("%w (%s): %w\nhint: SHOW FULL PROCESSLIST lists connections; end the one that has LOCK TABLES, FLUSH TABLES WITH READ LOCK or a transaction (KILL ID), and try again", ErrLocked, u.gaveUp, err)
	}
	return u.warnings, err
}

// watch looks at the session until ctx ends. It is a help only: without it locks run out.
func (u *unlocker) watch(ctx context.Context) {
	conn, err := u.DB.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for wait := looks; ; {
		waits, err := u.look(ctx, conn)
		if err != nil {
			return
		}
		if wait = min(2*wait, rareLooks); waits {
			wait = looks
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// look does what is to be done about a lock that the session waits for, and reports whether there
// is one.
func (u *unlocker) look(ctx context.Context, conn *sql.Conn) (bool, error) {
	list, err := server.Sessions(ctx, conn)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(list, func(s server.Session) bool { return s.ID == u.me })
	if i < 0 || list[i].Statement == "" {
		u.statement = ""
		return false, nil
	}
	me := list[i]
	lock := me.Lock()
	if lock == server.NoLock {
		u.statement = ""
		return false, u.rows(ctx, conn, list, me.User)
	}
	if u.statement != me.Statement {
		u.statement, u.since = me.Statement, time.Now()
	}
	// Neither is about this database: what is held there is not held by those who are here.
	elsewhere := lock == server.GlobalLock || u.d.Shape != nil && strings.Contains(me.Statement, server.QuoteName(u.d.Shape.Name)+".")
	switch {
	case !elsewhere && !u.own:
		u.own = true
		ended, err := u.end(ctx, conn, list, func(s server.Session) bool { return u.d.User != "" && s.User == u.d.User })
		if ended > 0 {
			u.warnings = append(u.warnings, "all connections of the database were ended, since one may have held the lock that stood in the way")
		}
		return true, err
	case !elsewhere && u.d.User != "" && slices.ContainsFunc(list, func(s server.Session) bool { return s.User == u.d.User }):
		// Those that were ended hold their locks until they are gone, which takes a while on a busy
		// machine.
		u.since = time.Now()
		_, err := u.end(ctx, conn, list, func(s server.Session) bool { return s.User == u.d.User })
		return true, err
	case !elsewhere && !u.others:
		u.others = true
		ended, err := u.end(ctx, conn, list, func(s server.Session) bool { return s.Database == u.d.Name && s.User != me.User })
		if ended > 0 {
			u.warnings = append(u.warnings, fmt.Sprintf("connections of other accounts in the database were ended (%d), since one may have held the lock that stood in the way", ended))
		}
		return true, err
	case !slices.ContainsFunc(list, func(s server.Session) bool { return s.User != me.User && s.Command != "Daemon" && !u.leased(s.User) }):
		// It is a task of the server's own, such as its purge, or another session of ours, which comes to
		// its end.
	case u.gaveUp != "" || time.Since(u.since) >= longestOwn || elsewhere && time.Since(u.since) >= longestWait:
		u.gaveUp = me.State
		return true, u.exec(ctx, conn, "KILL QUERY ", u.me)
	}
	return true, nil
}

func (u *unlocker) leased(user string) bool {
	return user == u.d.User || u.Leased != nil && u.Leased(user)
}

// rows ends the connections that hold locks on rows that the session waits for: nobody but the
// database's own account has anything to commit there, and no session of ours waits for long.
func (u *unlocker) rows(ctx context.Context, conn *sql.Conn, list []server.Session, supervisor string) error {
	if time.Since(u.rowsAsked) < rowLooks {
		return nil
	}
	u.rowsAsked = time.Now()
	holders, err := u.Server.RowLockHolders(ctx, conn, u.me, u.d.Name)
	if err != nil {
		return err
	}
	ended, err := u.end(ctx, conn, list, func(s server.Session) bool { return s.User != supervisor && slices.Contains(holders, s.ID) })
	if ended > 0 {
		u.warnings = append(u.warnings, fmt.Sprintf("transactions of other accounts were ended (%d), since they held locks on rows of the database", ended))
	}
	return err
}

// end ends the connections that which chooses, and returns how many.
func (u *unlocker) end(ctx context.Context, conn *sql.Conn, list []server.Session, which func(server.Session) bool) (n int, err error) {
	for _, s := range list {
		if s.ID == u.me || s.Command == "Daemon" || !which(s) {
			continue
		}
		if err := u.exec(ctx, conn, "KILL CONNECTION ", s.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (u *unlocker) exec(ctx context.Context, conn *sql.Conn, text string, id uint64) error {
	// The session may go on before the answer is here.
	_, err := conn.ExecContext(context.WithoutCancel(ctx), text+strconv.FormatUint(id, 10))
	if err != nil && !server.NoSuchThread(err) {
		return err
	}
	return nil
}
