package tests

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// description is all that is in some databases, by what it is.
type description map[string]string

// count returns how many keys begin so.
func (d description) count(prefix string) int {
	n := 0
	for key := range d {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

func rowsOf(d description) int {
	total := 0
	for key, text := range d {
		if strings.HasPrefix(key, "rows ") {
			var n int
			if _, err := fmt.Sscanf(text, "%d", &n); err == nil {
				total += n
			}
		}
	}
	return total
}

// catalogue is what is compared of information_schema: a table, the column that
// names the database, and the columns that tell of a moment or are estimates.
var catalogue = []struct {
	table, schema string
	without       []string
}{
	{"SCHEMATA", "SCHEMA_NAME", nil},
	{"TABLES", "TABLE_SCHEMA", []string{"TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "MAX_DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE", "CREATE_TIME", "UPDATE_TIME", "CHECK_TIME", "MAX_INDEX_LENGTH"}},
	{"COLUMNS", "TABLE_SCHEMA", nil},
	{"STATISTICS", "TABLE_SCHEMA", []string{"CARDINALITY"}},
	{"TABLE_CONSTRAINTS", "CONSTRAINT_SCHEMA", nil},
	{"KEY_COLUMN_USAGE", "CONSTRAINT_SCHEMA", nil},
	{"REFERENTIAL_CONSTRAINTS", "CONSTRAINT_SCHEMA", nil},
	{"CHECK_CONSTRAINTS", "CONSTRAINT_SCHEMA", nil},
	{"PARTITIONS", "TABLE_SCHEMA", []string{"TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "MAX_DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE", "CREATE_TIME", "UPDATE_TIME", "CHECK_TIME"}},
	{"VIEWS", "TABLE_SCHEMA", nil},
	{"TRIGGERS", "TRIGGER_SCHEMA", []string{"CREATED"}},
	{"ROUTINES", "ROUTINE_SCHEMA", []string{"CREATED", "LAST_ALTERED"}},
	{"PARAMETERS", "SPECIFIC_SCHEMA", nil},
	{"EVENTS", "EVENT_SCHEMA", []string{"CREATED", "LAST_ALTERED", "LAST_EXECUTED"}},
}

// describeAll describes databases: the catalogue, the text of everything that has a
// SHOW CREATE, and for each table the number of its rows and their checksum.
func describeAll(t *testing.T, pool *sql.DB, databases []string) description {
	t.Helper()
	ctx := t.Context()
	conn, err := pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// MySQL keeps what it once read of tables, AUTO_INCREMENT too, for a day.
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = @@sql_mode /*!80000 , information_schema_stats_expiry = 0 */"); err != nil {
		t.Fatal(err)
	}
	// The answer of SHOW CREATE VIEW depends on the current database.
	if _, err := conn.ExecContext(ctx, "USE information_schema"); err != nil {
		t.Fatal(err)
	}
	d := description{}
	in := "('" + strings.Join(databases, "', '") + "')"
	name := func(schema, object string) string {
		return dbconn.QuoteName(schema) + "." + dbconn.QuoteName(object)
	}
	// Timestamps of creation are all that differs in SHOW CREATE.
	show := func(kind, schema, object string) {
		d[kind+" "+schema+"."+object] = strings.Join(table(ctx, t, conn, "SHOW CREATE "+kind+" "+name(schema, object), []string{"Created"}), "\n")
	}
	for _, o := range objects(ctx, t, conn, "SELECT TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA IN "+in) {
		show("TABLE", o[1], o[2])
		rows := table(ctx, t, conn, "SELECT * FROM "+name(o[1], o[2]), nil)
		slices.Sort(rows)
		d["rows "+o[1]+"."+o[2]] = fmt.Sprintf("%d, digest %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
		// The server's own checksum takes virtual columns as it finds them in a
		// buffer, uncomputed: it differs between two connections to one server.
		if o[0] != "VIEW" && !strings.Contains(d["TABLE "+o[1]+"."+o[2]], " VIRTUAL") {
			d["checksum "+o[1]+"."+o[2]] = strings.Join(table(ctx, t, conn, "CHECKSUM TABLE "+name(o[1], o[2])+" EXTENDED", nil), "")
		}
	}
	for _, query := range []string{
		"SELECT 'TRIGGER', TRIGGER_SCHEMA, TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA IN " + in,
		"SELECT ROUTINE_TYPE, ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA IN " + in,
		"SELECT 'EVENT', EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA IN " + in,
	} {
		for _, o := range objects(ctx, t, conn, query) {
			show(o[0], o[1], o[2])
		}
	}
	// Last, since MySQL knows the next AUTO_INCREMENT of tables that were opened only.
	for _, c := range catalogue {
		rows := table(ctx, t, conn, "SELECT * FROM information_schema."+c.table+" WHERE "+c.schema+" IN "+in, c.without)
		slices.Sort(rows)
		d["information_schema."+c.table] = strings.Join(rows, "\n")
	}
	return d
}

// objects returns rows of three columns.
func objects(ctx context.Context, t *testing.T, conn *sql.Conn, query string) [][3]string {
	t.Helper()
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var list [][3]string
	for rows.Next() {
		var o [3]string
		if err := rows.Scan(&o[0], &o[1], &o[2]); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		list = append(list, o)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

// table returns the rows of a query, each as column=value, without some columns.
func table(ctx context.Context, t *testing.T, conn *sql.Conn, query string, without []string) []string {
	t.Helper()
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var list []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		var fields []string
		for i, c := range columns {
			if slices.Contains(without, c) {
				continue
			}
			v := "NULL"
			if values[i].Valid {
				v = "'" + values[i].String + "'"
			}
			fields = append(fields, c+"="+v)
		}
		list = append(list, strings.Join(fields, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}
