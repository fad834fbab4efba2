package bench

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/ramaria-db/ramaria/internal/server"
)

// contents is what a database holds: of each table its definition, with the
// AUTO_INCREMENT counter, and the checksum of its rows; and under names that no table has,
// how many views, triggers, routines and events there are.
type contents map[string]string

// others counts what is not a table.
var others = map[string]string{
	"(views)":    "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = ?",
	"(triggers)": "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = ?",
	"(routines)": "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = ?",
	"(events)":   "SELECT COUNT(*) FROM information_schema.events WHERE event_schema = ?",
}

// impliedCharset is what MySQL writes into a definition, or leaves out, depending on how the
// statement was put that made the table: the collation tells the character set.
var impliedCharset = regexp.MustCompile(` CHARACTER SET \w+ COLLATE `)

// readContents reads them of the named tables, or of all that there are.
func readContents(ctx context.Context, db *sql.DB, database string, tables []string) (contents, error) {
	c := contents{}
	failed := func(err error) (contents, error) {
		return nil, fmt.Errorf("read contents of %s: %w", database, err)
	}
	if len(tables) == 0 {
		var err error
		if tables, err = baseTables(ctx, db, database); err != nil {
			return failed(err)
		}
	}
	for _, table := range tables {
		name := server.QuoteName(database) + "." + server.QuoteName(table)
		var same, definition string
		var sum sql.NullString
		if err := db.QueryRowContext(ctx, "SHOW CREATE TABLE "+name).Scan(&same, &definition); err != nil {
			return failed(err)
		}
		if err := db.QueryRowContext(ctx, "CHECKSUM TABLE "+name).Scan(&same, &sum); err != nil {
			return failed(err)
		}
		c[table] = impliedCharset.ReplaceAllString(definition, " COLLATE ") + " with checksum " + sum.String
	}
	for what, query := range others {
		var n string
		if err := db.QueryRowContext(ctx, query, database).Scan(&n); err != nil {
			return failed(err)
		}
		c[what] = n
	}
	return c, nil
}

func baseTables(ctx context.Context, db *sql.DB, database string) (tables []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE' ORDER BY table_name", database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		tables = append(tables, name)
	}
	return tables, rows.Err()
}

// tables are the names of the tables in it.
func (c contents) tables() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if others[name] == "" {
			list = append(list, name)
		}
	}
	return list
}

// differs returns the first table that is not as in other, or "".
func (c contents) differs(other contents) string {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] != other[name] {
			return name
		}
	}
	return ""
}
