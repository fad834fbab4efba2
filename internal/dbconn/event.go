package dbconn

import (
	"context"
	"fmt"
	"strings"
)

// EventAlteration changes the state of an event, and nothing else: an event that is altered gets its sql_mode, time zone,
// character set, collation and definer from the session, its collation of the database from that, and its originator from
// server_id.
type EventAlteration struct {
	// Statements set a session, alter the event in it, and set it back. Text is in the character set of the event's client.
	Statements []string
	// Collation is what the event has of its database, and Now what the database has: an event that is altered gets that.
	Collation, Now string
	// Originator is the server_id of the server that made the event.
	Originator string
}

// AlterEvent reads what an event has, for ALTER EVENT schema.name with a state, such as ENABLE.
func AlterEvent(ctx context.Context, on RowQuerier, schema, name, state string) (a EventAlteration, err error) {
	var mode, zone, client, connection, definer string
	err = on.QueryRowContext(ctx, "SELECT sql_mode, time_zone, character_set_client, collation_connection, definer, originator, database_collation, "+
		"(SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = event_schema) FROM information_schema.events WHERE event_schema = ? AND event_name = ?",
		schema, name).Scan(&mode, &zone, &client, &connection, &definer, &a.Originator, &a.Collation, &a.Now)
	if err != nil {
		return a, fmt.Errorf("read event %s of %s: %w", name, schema, err)
	}
	quoted := QuoteName(definer) // a role is without an @
	if at := strings.LastIndexByte(definer, '@'); at >= 0 {
		quoted = QuoteName(definer[:at]) + "@" + QuoteName(definer[at+1:])
	}
	var alter []byte
	text := "ALTER DEFINER = " + quoted + " EVENT " + QuoteName(schema) + "." + QuoteName(name) + " " + state
	if err := on.QueryRowContext(ctx, "SELECT CAST(CONVERT(? USING "+client+") AS BINARY)", text).Scan(&alter); err != nil {
		return a, fmt.Errorf("write a statement in %s: %w", client, err)
	}
	a.Statements = []string{
		"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES', character_set_client = " + client + ", collation_connection = " + connection,
		"SET SESSION time_zone = " + Quote(zone),
		"SET SESSION sql_mode = " + Quote(mode),
		string(alter),
		"SET SESSION sql_mode = DEFAULT, character_set_client = utf8mb4, collation_connection = DEFAULT, time_zone = DEFAULT",
	}
	return a, nil
}
