package template

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Events fire by themselves: in a template they would change it, and in a spare clone
// yet make it useless. So a template's are disabled while it is one, and clones get those that fire
// when the clone is handed out.

// The states of an event, as SHOW CREATE EVENT writes them behind PRESERVE. The third kind, which is
// disabled on replicas, neither fires nor is ours.
const (
	enabled  = "ENABLE"
	disabled = "DISABLE"
)

// Fires reports whether an object is an event that is enabled.
func (o Object) Fires() bool {
	from, to := o.state()
	return o.Kind == "EVENT" && o.Create[from:to] == enabled
}

// state is where the state of an event stands in its statement: behind ON COMPLETION [NOT] PRESERVE.
// The user's own texts are in quotes that far.
func (o Object) state() (from, to int) {
	const words = " PRESERVE "
	for i := 0; i < len(o.Create); i++ {
		switch {
		case o.Create[i] == '\'' || o.Create[i] == '`':
			i += quoted(o.Create[i:]) - 1
		case strings.HasPrefix(o.Create[i:], words):
			from = i + len(words)
			to = from + strings.IndexFunc(o.Create[from:]+" ", func(r rune) bool { return r < 'A' || r > 'Z' })
			return from, to
		}
	}
	return 0, 0
}

// TakeForEnabled takes the events of those names, which Pause disabled, for enabled.
func (s *Shape) TakeForEnabled(names []string) {
	for i := range s.Objects {
		o := &s.Objects[i]
		from, to := o.state()
		// Not those that are disabled on replicas.
		if o.Kind == "EVENT" && slices.Contains(names, o.Name) && o.Create[from:to] == disabled && !strings.HasPrefix(o.Create[to:], " ON ") {
			o.Create = o.Create[:from] + enabled + o.Create[to:]
		}
	}
}

// firing returns the events that are enabled, and the other objects.
func (s *Shape) firing() (events, others []Object) {
	for _, o := range s.Objects {
		if o.Fires() {
			events = append(events, o)
		} else {
			others = append(others, o)
		}
	}
	return events, others
}

// HasFiring reports whether the template has events that are enabled.
func (s *Shape) HasFiring() bool { return slices.ContainsFunc(s.Objects, Object.Fires) }

// Wake makes the events that fire in a clone that was asleep. One whose time has passed is not made,
// as by a dump.
func (s *Shape) Wake(ctx context.Context, conn *sql.Conn, name string) error {
	events, _ := s.firing()
	if len(events) == 0 {
		return nil
	}
	if _, err := conn.ExecContext(ctx, "USE "+dbconn.QuoteName(name)); err != nil {
		return fmt.Errorf("make events of %s: %w", name, err)
	}
	if err := s.makeObjects(ctx, conn, name, events); err != nil {
		return fmt.Errorf("make events of %s: %w", name, err)
	}
	return nil
}

// Sleep removes the events that fire from a clone.
func (s *Shape) Sleep(ctx context.Context, conn *sql.Conn, name string) error {
	events, _ := s.firing()
	if len(events) == 0 {
		return nil
	}
	run := statements{ctx: ctx, conn: conn}
	for _, o := range events {
		if err := run.add("DROP EVENT IF EXISTS " + dbconn.QuoteName(name) + "." + dbconn.QuoteName(o.Name)); err != nil {
			return fmt.Errorf("remove events of %s: %w", name, err)
		}
	}
	if err := run.run(); err != nil {
		return fmt.Errorf("remove events of %s: %w", name, err)
	}
	return nil
}

// Firing returns the names of the events of a database that are enabled.
func Firing(ctx context.Context, conn *sql.Conn, name string) (list []string, err error) {
	err = dbconn.Ask(ctx, conn, dbconn.Question{
		Text: "SELECT event_name FROM information_schema.events WHERE event_schema = " + dbconn.Quote(name) + " AND status = 'ENABLED' ORDER BY event_name",
		Row: func(rows *sql.Rows) error {
			var event string
			if err := rows.Scan(&event); err != nil {
				return err
			}
			list = append(list, event)
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("list events of %s: %w", name, err)
	}
	return list, nil
}

// Pause disables events of a database, all else of them staying as it is.
func Pause(ctx context.Context, conn *sql.Conn, name string, events []string) error {
	return alterEvents(ctx, conn, name, events, enabled, disabled)
}

// Resume enables events that Pause disabled. Those that are gone, or were changed, stay so.
func Resume(ctx context.Context, conn *sql.Conn, name string, events []string) error {
	return alterEvents(ctx, conn, name, events, disabled, enabled)
}

func alterEvents(ctx context.Context, conn *sql.Conn, name string, events []string, from, to string) error {
	if len(events) == 0 {
		return nil
	}
	r := reader{ctx: ctx, conn: conn, shape: &Shape{Name: name}}
	if err := r.database(); err != nil {
		return fmt.Errorf("alter events of %s: %w", name, err)
	}
	if err := r.objects(); err != nil {
		return fmt.Errorf("alter events of %s: %w", name, err)
	}
	var list []Object
	for _, o := range r.shape.Objects {
		at, end := o.state()
		if o.Kind != "EVENT" || !slices.Contains(events, o.Name) || o.Create[at:end] != from {
			continue
		}
		// The account that alters an event becomes its definer, unless another is named.
		definer, _, _ := strings.Cut(strings.TrimPrefix(o.Create, "CREATE "), " EVENT "+dbconn.QuoteName(o.Name))
		o.Create = "ALTER " + definer + " EVENT " + dbconn.QuoteName(o.Name) + " " + to
		list = append(list, o)
	}
	if err := r.shape.makeObjects(ctx, conn, name, list); err != nil {
		return fmt.Errorf("alter events of %s: %w", name, err)
	}
	return nil
}
