package reset

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// clear ends the connections that may hold a lock on the database: those of its account, and, once
// they are gone, those of other accounts that are in it. It reports whether there were any.
func (u *unlocker) clear(ctx context.Context, conn *sql.Conn, list []dbconn.Session) (bool, error) {
	owns := func(s dbconn.Session) bool { return u.d.User != "" && s.User == u.d.User }
	ended, err := u.end(ctx, conn, list, owns)
	if ended > 0 && !u.own {
		u.own = true
		u.warnings = append(u.warnings, "all connections of the database were ended, since one may have held the lock that stood in the way")
	}
	if err != nil || ended > 0 || u.others {
		return ended > 0, err
	}
	if there, err := u.leaving(ctx, conn); err != nil || there {
		return there, err
	}
	u.others = true
	ended, err = u.end(ctx, conn, list, func(s dbconn.Session) bool { return s.Database == u.d.Name && s.User != u.account })
	if ended > 0 {
		u.warnings = append(u.warnings, fmt.Sprintf("connections of other accounts in the database were ended (%d), since one may have held the lock that stood in the way", ended))
	}
	return ended > 0, err
}

// passes reports whether anything is at work that lets go of its locks by itself. The purge of
// deleted rows keeps no connection from reading a template, and is asked for where others are wanted.
func (u *unlocker) passes(ctx context.Context, conn *sql.Conn, list []dbconn.Session, purge bool) (bool, error) {
	there, err := u.leaving(ctx, conn)
	if err != nil || there {
		return true, err
	}
	// A session that looks, as this one does, holds no lock, and one that waits may wait for the
	// same lock.
	if slices.ContainsFunc(list, func(s dbconn.Session) bool {
		return s.ID != u.me && s.User == u.account && s.Command == "Query" && s.Lock() == dbconn.NoLock && !strings.HasPrefix(s.Statement, "SHOW ")
	}) {
		return true, nil
	}
	work, err := u.Server.Dialect().InnoDBWork(ctx, conn)
	// One that cannot go on since a connection reads what was deleted is at work all the time.
	moves := work.Purge != "" && work.Purge != u.purge
	u.purge = work.Purge
	return work.RollsBack || purge && moves, err
}

// leaving reports whether connections that were ended are still there.
func (u *unlocker) leaving(ctx context.Context, conn *sql.Conn) (bool, error) {
	for id := range u.ended {
		there, err := u.exec(ctx, conn, "KILL CONNECTION ", id)
		if err != nil || there {
			return true, err
		}
		delete(u.ended, id)
	}
	return false, nil
}

// rows ends the connections that hold locks on rows that the session waits for: only the
// database's own account has anything to commit there, and no session of ours waits for long.
func (u *unlocker) rows(ctx context.Context, conn *sql.Conn, list []dbconn.Session) error {
	if time.Since(u.rowsAsked) < rowLooks {
		return nil
	}
	u.rowsAsked = time.Now()
	holders, err := u.Server.Dialect().RowLockHolders(ctx, conn, u.me, u.d.Name)
	if err != nil {
		return err
	}
	ended, err := u.end(ctx, conn, list, func(s dbconn.Session) bool { return s.User != u.account && slices.Contains(holders, s.ID) })
	if ended > 0 {
		u.warnings = append(u.warnings, fmt.Sprintf("transactions of other accounts were ended (%d), since they held locks on rows of the database", ended))
	}
	return err
}

// end ends the connections that which chooses, and returns how many.
func (u *unlocker) end(ctx context.Context, conn *sql.Conn, list []dbconn.Session, which func(dbconn.Session) bool) (n int, err error) {
	for _, s := range list {
		if s.ID == u.me || s.Command == "Daemon" || !which(s) {
			continue
		}
		there, err := u.exec(ctx, conn, "KILL CONNECTION ", s.ID)
		if err != nil {
			return n, err
		}
		if there {
			u.ended[s.ID] = true
		}
		n++
	}
	return n, nil
}

// exec ends a connection, or its statement, and reports whether it was there.
func (u *unlocker) exec(ctx context.Context, conn *sql.Conn, text string, id uint64) (bool, error) {
	// The session may go on before the answer is here.
	_, err := conn.ExecContext(context.WithoutCancel(ctx), text+strconv.FormatUint(id, 10))
	if dbconn.NoSuchThread(err) {
		return false, nil
	}
	return err == nil, err
}
