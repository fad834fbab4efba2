package engine

import (
	"context"
	"database/sql"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// event is one that runs at an instance.
type event struct{ schema, name, definer, mode, zone string }

// enabledEvents lists them.
func enabledEvents(ctx context.Context, db *sql.DB) (list []event, err error) {
	err = dbconn.Query(ctx, db, "SELECT EVENT_SCHEMA, EVENT_NAME, DEFINER, SQL_MODE, TIME_ZONE FROM information_schema.EVENTS WHERE STATUS = 'ENABLED'", func(c []string) error {
		list = append(list, event{c[0], c[1], c[2], c[3], c[4]})
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
		at := strings.LastIndex(ev.definer, "@")
		if at < 0 {
			asleep = append(asleep, ev.schema+"."+ev.name)
			continue
		}
		// Without these it would get those of this session.
		err := dbconn.ExecAll(ctx, c.far, "SET SESSION sql_mode = "+dbconn.Quote(ev.mode)+", time_zone = "+dbconn.Quote(ev.zone),
			"ALTER DEFINER = "+dbconn.Quote(ev.definer[:at])+"@"+dbconn.Quote(ev.definer[at+1:])+" EVENT "+dbconn.QuoteName(ev.schema)+"."+dbconn.QuoteName(ev.name)+" ENABLE")
		if err != nil {
			asleep = append(asleep, ev.schema+"."+ev.name)
		}
	}
	if c.h.Cut.Events == "ON" {
		err = dbconn.ExecAll(ctx, c.far, "SET GLOBAL event_scheduler = ON")
	}
	return asleep, err
}
