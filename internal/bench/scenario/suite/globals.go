package suite

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

// globals are the global variables of a server with their values, in the types that SET takes
// again.
type globals map[string]any

// moving are those that a server changes by itself: they tell what is in its binary log.
var moving = []string{"gtid_binlog_pos", "gtid_binlog_state", "gtid_current_pos", "gtid_executed", "gtid_purged", "gtid_slave_pos"}

const (
	// restoreTries is how often variables are put back: one of a pair may bound the other, and
	// some follow a while later.
	restoreTries = 40
	restorePause = 50 * time.Millisecond
)

// readGlobals asks for all of them. SHOW would cut long values off.
func readGlobals(ctx context.Context, db *sql.DB) (globals, error) {
	names, err := globalNames(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read global variables: %w", err)
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL."+strings.Join(names, ", @@GLOBAL.")).Scan(into...); err != nil {
		return nil, fmt.Errorf("read global variables: %w", err)
	}
	g := globals{}
	for i, name := range names {
		if text, ok := values[i].([]byte); ok {
			values[i] = string(text)
		}
		g[name] = values[i]
	}
	return g, nil
}

func globalNames(ctx context.Context, db *sql.DB) (names []string, err error) {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL VARIABLES")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value sql.RawBytes
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// restore puts back what has changed since: all that can be set and does not change by itself.
// One that stays otherwise is an error.
func (g globals) restore(ctx context.Context, db *sql.DB) error {
	fixed := slices.Clone(moving)
	for range restoreTries {
		changed, err := g.changed(ctx, db, fixed)
		if err != nil {
			return err
		}
		if len(changed) == 0 {
			return nil
		}
		var errs []error
		for _, name := range changed {
			_, err := db.ExecContext(ctx, "SET GLOBAL "+name+" = ?", g[name])
			if dbconn.FixedVariable(err) {
				fixed = append(fixed, name) // it was not set
			} else if err != nil {
				errs = append(errs, fmt.Errorf("put back global variable %s: %w", name, err))
			}
		}
		if len(errs) == len(changed) {
			return errors.Join(errs...) // what helps the next one is not there
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(restorePause):
		}
	}
	changed, err := g.changed(ctx, db, fixed)
	if err == nil && len(changed) > 0 {
		err = fmt.Errorf("put back global variables: they stay otherwise: %s", strings.Join(changed, ", "))
	}
	return err
}

// changed are the names of those that have another value now, but for some.
func (g globals) changed(ctx context.Context, db *sql.DB, except []string) ([]string, error) {
	now, err := readGlobals(ctx, db)
	if err != nil {
		return nil, err
	}
	var list []string
	for name, value := range g {
		if have, there := now[name]; there && have != value && !slices.Contains(except, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, nil
}
