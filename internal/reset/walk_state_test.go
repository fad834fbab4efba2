package reset_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/template"
)

// stateQueries tell all of a database but its tables' definitions and rows.
var stateQueries = []string{
	"SELECT table_name, table_type, engine, NULLIF(auto_increment, 1), table_comment FROM information_schema.tables WHERE table_schema = 'DB' ORDER BY BINARY table_name",
	"SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = 'DB'",
	"SELECT trigger_name, event_manipulation, event_object_table, action_order, action_statement, action_timing, sql_mode, definer, character_set_client, " +
		"collation_connection, database_collation FROM information_schema.triggers WHERE trigger_schema = 'DB' ORDER BY trigger_name",
	"SELECT routine_name, routine_type, dtd_identifier, routine_definition, sql_mode, security_type, definer FROM information_schema.routines WHERE routine_schema = 'DB' ORDER BY routine_name",
	"SELECT table_name, view_definition, definer FROM information_schema.views WHERE table_schema = 'DB' ORDER BY BINARY table_name",
	"SELECT event_name, event_definition, status, starts, event_comment FROM information_schema.events WHERE event_schema = 'DB' ORDER BY event_name",
}

// stateQuery is a text of many statements that tells all that a lease must be. It costs a
// few milliseconds, a dump fifty.
func (l *lease) stateQuery() string {
	var b strings.Builder
	for _, q := range stateQueries {
		b.WriteString(strings.ReplaceAll(q, "DB", l.Name) + ";")
	}
	for _, t := range l.shape.Tables {
		own := dbconn.QuoteName(l.Name) + "." + dbconn.QuoteName(t.Name)
		fmt.Fprintf(&b, "SHOW CREATE TABLE %s;", own)
		switch {
		case !t.Keyed: // the order of its rows is what they come in
			fmt.Fprintf(&b, "SELECT * FROM %s;", own)
		case computed(t): // MariaDB's checksum of it is not always the same
			fmt.Fprintf(&b, "SELECT * FROM %s ORDER BY 1;", own)
		default:
			fmt.Fprintf(&b, "CHECKSUM TABLE %s;", own)
		}
	}
	return strings.TrimSuffix(b.String(), ";")
}

func computed(t template.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c template.Column) bool { return c.Generated })
}

// state runs stateQuery. What it cannot ask is part of what it says.
func (l *lease) state() string {
	l.t.Helper()
	rows, err := l.session.Conn.QueryContext(l.t.Context(), l.query)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var b strings.Builder
	for {
		names, err := rows.Columns()
		if err != nil {
			return b.String() + err.Error()
		}
		values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return b.String() + err.Error()
			}
			for i, v := range values {
				if v == nil {
					v = sql.RawBytes("NULL")
				}
				fmt.Fprintf(&b, "%s=%s ", names[i], v)
			}
			b.WriteString("\n")
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		b.WriteString(err.Error())
	}
	return b.String()
}

// counterOf is what a state says of a table's counter.
var counterOf = regexp.MustCompile(`AUTO_INCREMENT=\d+ ?|NULLIF\(auto_increment, 1\)=\w+ `)

// withoutCounters is a state without them.
func withoutCounters(state string) string { return counterOf.ReplaceAllString(state, "") }

// differences are those between two states, as text.
func differences(a, b string) string {
	if a == b {
		return ""
	}
	return cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n"))
}
