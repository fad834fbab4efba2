package lab

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Contents is what a database holds: of each table its definition, with the
// AUTO_INCREMENT counter, and the checksum of its rows; and under names that no table has,
// how many views, triggers, routines and events there are.
type Contents map[string]string

// others counts what is not a table.
var others = map[string]string{
	"(views)":    "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = ?",
	"(triggers)": "SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = ?",
	"(routines)": "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = ?",
	"(events)":   "SELECT COUNT(*) FROM information_schema.events WHERE event_schema = ?",
}

// impliedCharset is what MySQL writes into a definition, or leaves out, depending on how the
// statement was put that made the table: the collation tells the character set.
var impliedCharset = regexp.MustCompile(` CHARACTER SET \w+ COLLATE `)

// withChecksum stands between the definition of a table and the checksum of its rows.
const withChecksum = " with checksum "

// ReadContents reads them of the named tables, or of all that there are.
func ReadContents(ctx context.Context, db *sql.DB, database string, tables []string) (Contents, error) {
	c := Contents{}
	failed := func(err error) (Contents, error) {
		return nil, fmt.Errorf("read contents of %s: %w", database, err)
	}
	if len(tables) == 0 {
		var err error
		if tables, err = BaseTables(ctx, db, database); err != nil {
			return failed(err)
		}
	}
	for _, table := range tables {
		name := dbconn.QuoteName(database) + "." + dbconn.QuoteName(table)
		var same, definition string
		var sum sql.NullString
		if err := db.QueryRowContext(ctx, "SHOW CREATE TABLE "+name).Scan(&same, &definition); err != nil {
			return failed(err)
		}
		if err := db.QueryRowContext(ctx, "CHECKSUM TABLE "+name).Scan(&same, &sum); err != nil {
			return failed(err)
		}
		c[table] = impliedCharset.ReplaceAllString(definition, " COLLATE ") + withChecksum + sum.String
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

// BaseTables are the tables of a database that hold rows, in the order of their names.
func BaseTables(ctx context.Context, db *sql.DB, database string) ([]string, error) {
	return TextsOf(ctx, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND table_type = 'BASE TABLE' ORDER BY table_name", database)
}

// TextsOf returns the only column that a query gives.
func TextsOf(ctx context.Context, db *sql.DB, query string, args ...any) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

// tables are the names of the tables in it.
func (c Contents) tables() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if others[name] == "" {
			list = append(list, name)
		}
	}
	return list
}

// SameRows returns an error if the tables of a database do not hold the same rows; views and
// the like, foreign keys and counters do not matter.
func (c Contents) SameRows(have Contents, name string) error {
	return c.rowsAlone().mustEqual(have.rowsAlone(), name, "it was copied from")
}

// rowsAlone are the checksums of the tables.
func (c Contents) rowsAlone() Contents {
	sums := Contents{}
	for _, table := range c.tables() {
		sums[table] = c[table][strings.LastIndex(c[table], withChecksum)+len(withChecksum):]
	}
	return sums
}

// differs returns the first table that is not as in other, or "".
func (c Contents) differs(other Contents) string {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] != other[name] {
			return name
		}
	}
	return ""
}

// mustEqual returns an error if a database holds something else, or more; like is in words what
// it is to be as.
func (c Contents) mustEqual(have Contents, name, like string) error {
	table := c.differs(have)
	if table == "" {
		table = have.differs(c)
	}
	if table == "" {
		return nil
	}
	return fmt.Errorf("database %s is not as %s: %s is %q, not %q", name, like, table, have[table], c[table])
}
