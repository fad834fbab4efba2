package reset

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// known does what is to be done about a lock of which the server tells who holds it. On the database
// itself that no connection may keep, and its holder is ended: at once if the connection is idle,
// and after longestWork if it is at work. One on the template or on everything is another connection's own
// affair: what waits for it is ended.
func (u *unlocker) known(ctx context.Context, conn *sql.Conn, list []dbconn.Session, lock *dbconn.MetadataLock) error {
	if time.Since(u.began) >= longestPassing {
		return u.giveUp(ctx, conn, "")
	}
	own := lock.Schema == u.d.Name
	holds := func(s dbconn.Session) bool {
		return slices.Contains(lock.Holders, s.ID) && s.Command != "Daemon" && s.User != u.account
	}
	if own {
		return u.evict(ctx, conn, list, func(s dbconn.Session) bool {
			return holds(s) && (s.Command == "Sleep" || time.Since(u.began) >= longestWork)
		})
	}
	var names []string
	for _, s := range list {
		if holds(s) && u.stranger(s) {
			names = append(names, fmt.Sprintf("connection %d of account %s", s.ID, s.User))
		}
	}
	if names == nil { // it is a task of the server's own, or another session of ours, which comes to its end
		u.strangers = time.Time{}
		return nil
	}
	if u.strangers.IsZero() {
		u.strangers = time.Now()
	}
	if time.Since(u.strangers) < longestOther {
		return nil
	}
	return u.giveUp(ctx, conn, ", held by "+strings.Join(names, ", "))
}

// evict ends connections that hold a lock on the database, and notes whose they were.
func (u *unlocker) evict(ctx context.Context, conn *sql.Conn, list []dbconn.Session, which func(dbconn.Session) bool) error {
	mine := func(s dbconn.Session) bool { return u.d.User != "" && s.User == u.d.User }
	own, err := u.end(ctx, conn, list, func(s dbconn.Session) bool { return mine(s) && which(s) && !u.ended[s.ID] })
	if own > 0 && !u.own {
		u.own = true
		u.warnings = append(u.warnings, "connections of the database were ended, since they held a lock that stood in the way")
	}
	if err != nil {
		return err
	}
	others, err := u.end(ctx, conn, list, func(s dbconn.Session) bool { return !mine(s) && which(s) && !u.ended[s.ID] })
	if others > 0 {
		u.warnings = append(u.warnings, fmt.Sprintf("connections of other accounts were ended (%d), since they held a lock on the database", others))
	}
	return err
}
