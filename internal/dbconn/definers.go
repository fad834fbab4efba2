package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Definers asks for the definers of all that has one.
const Definers = "SELECT DEFINER FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ('sys', 'mysql') UNION SELECT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ('sys', 'mysql')" +
	" UNION SELECT DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ('sys', 'mysql') UNION SELECT DEFINER FROM information_schema.EVENTS"

// LockDefiners locks the accounts of applications with whose rights views, routines, triggers or events run, and returns
// their users: without the accounts they would not work.
func LockDefiners(ctx context.Context, db *sql.DB, apps []Login) (kept []string, err error) {
	err = Query(ctx, db, Definers, func(c []string) error {
		who, _, _ := strings.Cut(c[0], "@")
		if !slices.Contains(kept, who) && slices.ContainsFunc(apps, func(l Login) bool { return l.User == who }) {
			kept = append(kept, who)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for definers: %w", err)
	}
	for _, user := range kept {
		if _, err := db.ExecContext(ctx, "ALTER USER "+strings.Join(appAccounts(Login{User: user}), ", ")+" ACCOUNT LOCK"); err != nil {
			return nil, fmt.Errorf("lock account %s: %w", user, err)
		}
	}
	return kept, nil
}
