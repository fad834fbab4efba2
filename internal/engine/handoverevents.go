package engine

import (
	"context"
	"database/sql"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// event is one that runs at an instance.
type event struct{ schema, name string }

// enabledEvents lists them.
func enabledEvents(ctx context.Context, db *sql.DB) (list []event, err error) {
	err = dbconn.Query(ctx, db, "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE STATUS = 'ENABLED'", func(c []string) error {
		list = append(list, event{c[0], c[1]})
		return nil
	})
	return list, err
}

// wake has the events that run at the instance run at the target. It returns those that do not.
func (c *cutting) wake(ctx context.Context) (asleep []string, err error) {
	if len(c.events) == 0 {
		return nil, nil
	}
	enabled, err := enabledEvents(ctx, c.far) // which is one connection
	if err != nil {
		return nil, err
	}
	runs := map[string]bool{}
	for _, ev := range enabled {
		runs[ev.schema+"."+ev.name] = true
	}
	for _, ev := range c.events {
		if runs[ev.schema+"."+ev.name] {
			continue
		}
		a, err := dbconn.AlterEvent(ctx, c.far, ev.schema, ev.name, "ENABLE")
		// Altered, it would get the collation that its database has now.
		if err != nil || a.Collation != a.Now || dbconn.ExecAll(ctx, c.far, a.Statements...) != nil {
			asleep = append(asleep, ev.schema+"."+ev.name)
		}
	}
	if c.h.Cut.Events == "ON" {
		err = dbconn.ExecAll(ctx, c.far, "SET GLOBAL event_scheduler = ON")
	}
	return asleep, err
}
