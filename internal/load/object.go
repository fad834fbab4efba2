package load

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
)

// made matches what makes a view, routine or event that is not there yet, and how that goes on.
var made = regexp.MustCompile(`(?i)^(?:\s|/\*M?!\d*)*create\s+(\w+)`)

// waitToReplace waits for all rows before a statement that drops or replaces a view, routine or event,
// if there were any before the dump: what the dump has not made is not to go if it fails before that.
func (l *loader) waitToReplace(ctx context.Context, text []byte) error {
	if m := made.FindSubmatch(text); len(m) > 1 && !bytes.EqualFold(m[1], []byte("or")) {
		return nil
	}
	if l.objects == nil {
		const others = " NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')"
		there := false
		row := l.primary.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM information_schema.views WHERE table_schema"+others+
			") OR EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema"+others+
			") OR EXISTS (SELECT 1 FROM information_schema.events WHERE event_schema"+others+")")
		if err := row.Scan(&there); err != nil {
			return fmt.Errorf("load %s: ask for views, routines and events: %w", l.name, err)
		}
		l.objects = &there
	}
	if !*l.objects {
		return nil
	}
	return l.waitAll(ctx)
}
