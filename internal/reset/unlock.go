package reset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const (
	// patience is how long a database is worked on before anybody looks whether a lock stands in the
	// way, and looks how often it is looked at then, up to rareLooks while nothing waits: nearly all
	// resets are over before the first.
	patience  = 10 * time.Millisecond
	looks     = 5 * time.Millisecond
	rareLooks = 20 * time.Millisecond
	// longestOther is for how long a statement waits for a lock on the template or on everything once
	// nothing is at work that lets go of it by itself, longestOwn for one on the database itself, which a
	// task of the server's that nothing tells may have, and fewLooks how often that must have been seen.
	longestOther = 80 * time.Millisecond
	longestOwn   = 2 * time.Second
	fewLooks     = 5
	// longestWork is for how long the holder of the lock may go on with a statement.
	longestWork = 50 * time.Millisecond
	// sparingLooks is how often nothing else must have been seen before connections are ended that may hold
	// nothing, and longestSparing how long they are spared on a server that is never at rest.
	sparingLooks   = 3
	longestSparing = 300 * time.Millisecond
	// longestPassing is for how long it waits for what lets go by itself: connections that were ended,
	// transactions that are rolled back, the purge of deleted rows, and our own sessions. On a busy
	// machine that takes its time.
	longestPassing = 10 * time.Second
	// rowLooks is how often the holders of locks on rows are asked for: MariaDB's answer is a copy
	// that is renewed only if it was not asked for in a tenth of a second.
	rowLooks = 120 * time.Millisecond
)

// ErrLocked says that a connection of another account holds a lock that keeps the database from
// being put back.
var ErrLocked = errors.New("a lock of another connection stands in the way")

// unlocker looks, on a connection of its own, at what a session waits for while it works on a
// database, and ends the connections that hold it. Where the server does not tell whose the lock is,
// these are first those of the database's own account, then those that are in the database, and what
// waits even then is ended itself.
type unlocker struct {
	*Engine
	d       *Database
	me      uint64 // the session's connection
	account string // and ours, which other sessions of ours have too

	// statement waits since began; from since on, in so many looks, nothing was at work that lets go of
	// the lock by itself; strangers are connected from then on. own and others say whose connections were
	// ended.
	statement               string
	began, since, strangers time.Time
	looks                   int
	own, others             bool
	rowsAsked               time.Time
	// ended are the connections that were told to end, and hold their locks until they are gone; MySQL's
	// list leaves them out before that. purge is how far the purge of deleted rows was.
	ended map[uint64]bool
	purge string

	// warnings say whose connections were ended, and gaveUp what for a statement was waiting that was
	// ended.
	warnings []string
	gaveUp   string
}

// Unlocked calls f, which works on a database in the session s, and meanwhile ends connections
// whose locks stand in f's way. It returns warnings for the caller. The error matches ErrLocked
// if a lock stayed.
func (r *Engine) Unlocked(ctx context.Context, s *Session, d *Database, f func() error) ([]string, error) {
	if r.DB == nil {
		return nil, f()
	}
	me, err := s.id(ctx)
	if err != nil {
		return nil, err
	}
	u := &unlocker{Engine: r, d: d, me: me, account: s.account, ended: map[uint64]bool{}}
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
		if err == nil || !dbconn.WaitedForLock(err) {
			return u.warnings, err
		}
		// It ran out by itself, between two looks or since no look was possible.
		return u.warnings, u.locked("it was waited for until that ran out", err)
	}
	// It may have been ended just as it went on, and the next statement would be in its place.
	_ = s.exec(context.WithoutCancel(ctx), "DO 0")
	if err != nil {
		err = u.locked(u.gaveUp, err)
	}
	return u.warnings, err
}

func (u *unlocker) locked(how string, err error) error {
	return fmt.Errorf("%w (%s): %w\nhint: SHOW FULL PROCESSLIST lists connections; end the one that has LOCK TABLES, FLUSH TABLES WITH READ LOCK or a transaction (KILL ID), and try again", ErrLocked, how, err)
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
	list, err := dbconn.Sessions(ctx, conn)
	if err != nil {
		return false, err
	}
	me, works := u.find(list)
	if !works {
		u.statement = ""
		return false, nil
	}
	lock := me.Lock()
	if lock == dbconn.NoLock {
		u.statement = ""
		return false, u.rows(ctx, conn, list)
	}
	if now := time.Now(); u.statement != me.Statement {
		u.statement, u.began, u.since, u.strangers, u.looks = me.Statement, now, now, time.Time{}, 0
	}
	if known, err := u.Server.Dialect().MetadataLock(ctx, conn, u.me); err != nil {
		return true, err
	} else if known != nil {
		return true, u.known(ctx, conn, list, known)
	}
	// Locks on the template, or on the whole server, are not held by connections in the clone.
	template := u.d.Shape != nil && strings.Contains(me.Statement, dbconn.QuoteName(u.d.Shape.Name)+".")
	here := lock == dbconn.TableLock && (!template || strings.Contains(me.Statement, dbconn.QuoteName(u.d.Name)))
	passes, err := u.passes(ctx, conn, list, here && !template)
	if err != nil {
		return true, err
	}
	if passes {
		u.since, u.looks = time.Now(), 0
	} else {
		u.looks++
	}
	if here && (u.looks >= sparingLooks || time.Since(u.began) >= longestSparing) {
		ended, err := u.clear(ctx, conn, list)
		if err != nil {
			return true, err
		}
		if ended {
			u.since, u.looks = time.Now(), 0
		}
	}
	if !slices.ContainsFunc(list, func(s dbconn.Session) bool { return u.stranger(s) }) {
		// It is a task of the server's own, or another session of ours, which comes to its end.
		u.strangers = time.Time{}
		return true, nil
	}
	if u.strangers.IsZero() {
		u.strangers, u.since, u.looks = time.Now(), time.Now(), 0
	}
	longest := longestOther
	if here && !template {
		longest = longestOwn
	}
	if u.gaveUp == "" && time.Since(u.strangers) < longestPassing && (u.looks < fewLooks || time.Since(u.since) < longest) {
		return true, nil
	}
	return true, u.giveUp(ctx, conn, "")
}

// find returns the session that is looked at, and whether it is at work.
func (u *unlocker) find(list []dbconn.Session) (dbconn.Session, bool) {
	i := slices.IndexFunc(list, func(s dbconn.Session) bool { return s.ID == u.me })
	if i < 0 || list[i].Statement == "" {
		return dbconn.Session{}, false
	}
	return list[i], true
}

// giveUp ends the statement, unless it went on meanwhile.
func (u *unlocker) giveUp(ctx context.Context, conn *sql.Conn, holder string) error {
	list, err := dbconn.Sessions(ctx, conn)
	if err != nil {
		return err
	}
	me, works := u.find(list)
	if !works || me.Statement != u.statement || me.Lock() == dbconn.NoLock {
		return nil
	}
	u.gaveUp = me.State + holder
	_, err = u.exec(ctx, conn, "KILL QUERY ", u.me)
	return err
}

// stranger reports whether a session may hold a lock for good that it is not to be ended for.
func (u *unlocker) stranger(s dbconn.Session) bool {
	return s.User != "unauthenticated user" && s.User != u.account && s.Command != "Daemon" && !u.leased(s.User) && !u.ended[s.ID]
}

func (u *unlocker) leased(user string) bool {
	return user == u.d.User || u.Leased != nil && u.Leased(user)
}
