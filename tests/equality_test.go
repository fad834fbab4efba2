package tests

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// envShared names the folder of sample dumps, whose data lies in data/ below it.
const envShared = "RAMARIA_SHARED"

// samples are the sample dumps: names of files, and the databases that they make.
var samples = []struct {
	name      string
	files     []string
	databases []string
}{
	{"chinook", []string{"chinook.sql"}, []string{"Chinook"}},
	{"northwind", []string{"northwind.sql", "northwind-data.sql"}, []string{"northwind"}},
	{"sakila", []string{"sakila-schema.sql", "sakila-data.sql"}, []string{"sakila"}},
}

// sharedData returns the folder of sample dumps, or skips.
func sharedData(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared")
	if s := os.Getenv(envShared); s != "" {
		dir = s
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(filepath.Join(dir, "sakila-data.sql")); err != nil {
		t.Skipf("SKIPPED, UNTESTED: no sample dumps: %v (set %s)", err, envShared)
	}
	return dir
}

// TestSamplesEqualPlainLoad brings up Chinook, Northwind and Sakila, and compares
// everything in them with what the client alone loads into a stock server.
func TestSamplesEqualPlainLoad(t *testing.T) {
	dir := sharedData(t)
	h := newHouse(t)
	plain := newPlain(t, h.srv)
	for _, sample := range samples {
		t.Run(sample.name, func(t *testing.T) {
			h.during(t)
			plain.during(t)
			var files []string
			for _, f := range sample.files {
				files = append(files, filepath.Join(dir, f))
			}
			equalToPlain(t, h, plain, sample.name, files, sample.databases)
		})
	}
}

// TestEverythingEqualsPlainLoad does the same with a dump that has one of
// everything, and shows that the comparison notices differences.
func TestEverythingEqualsPlainLoad(t *testing.T) {
	h := newHouse(t)
	plain := newPlain(t, h.srv)
	file := filepath.Join(t.TempDir(), "menagerie.sql")
	if err := os.WriteFile(file, []byte(menagerie(h.srv)), 0o600); err != nil {
		t.Fatal(err)
	}
	databases := []string{"menagerie", "annex"}
	db, want := equalToPlain(t, h, plain, "menagerie", []string{file}, databases)

	for name, change := range map[string][2]string{
		"a row changed":         {"UPDATE menagerie.animal SET weight = weight + 1 WHERE id = 17", "rows menagerie.animal"},
		"a row deleted":         {"DELETE FROM menagerie.gate WHERE n = 5", "rows menagerie.gate"},
		"a trigger dropped":     {"DROP TRIGGER menagerie.keeper_up2", "TRIGGER menagerie.keeper_up2"},
		"a routine made":        {"CREATE FUNCTION menagerie.more() RETURNS int DETERMINISTIC RETURN 1", "FUNCTION menagerie.more"},
		"an event made":         {"CREATE EVENT menagerie.more ON SCHEDULE EVERY 1 DAY DO DELETE FROM menagerie.diary", "EVENT menagerie.more"},
		"a view replaced":       {"CREATE OR REPLACE VIEW menagerie.poor AS SELECT id, wage FROM menagerie.keeper", "TABLE menagerie.poor"},
		"a comment changed":     {"ALTER TABLE annex.elsewhere COMMENT 'x'", "TABLE annex.elsewhere"},
		"AUTO_INCREMENT raised": {"ALTER TABLE menagerie.animal AUTO_INCREMENT = 2000000", "information_schema.TABLES"},
		"a collation changed":   {"ALTER DATABASE annex COLLATE latin1_bin", "information_schema.SCHEMATA"},
	} {
		exe(t, db, change[0])
		got := describeAll(t, db, databases)
		if got[change[1]] == want[change[1]] {
			t.Errorf("%s, and the comparison says nothing about %s", name, change[1])
		}
	}
}

// equalToPlain loads the files both ways and compares; again after the instance
// was stopped and started. It returns a connection to the instance and what is in it.
func equalToPlain(t *testing.T, h *house, plain *plainServer, name string, files, databases []string) (*sql.DB, description) {
	t.Helper()
	plain.load(databases[0], files...)
	want := describeAll(t, plain.db, databases)
	args := []string{"up", name, "--server", h.daemon()}
	for _, f := range files {
		args = append(args, "--from", f)
	}
	dsn := h.ramaria(args...)
	db := openDSN(t, dsn)
	if !strings.HasSuffix(dsn, "/"+databases[0]) {
		t.Errorf("the application's database in %s is not %s", dsn[strings.LastIndex(dsn, "/"):], databases[0])
	}
	if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
		t.Errorf("other than a plain load (-) after up (+):\n%s", diff)
	}
	h.ramaria("down", name)
	db = openDSN(t, h.ramaria("up", name))
	if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
		t.Errorf("other than a plain load (-) after down and up (+):\n%s", diff)
	}
	if want.count("rows ") == 0 {
		t.Error("there is no table to compare")
	}
	t.Logf("equal: %d tables and views, %d triggers, %d routines, %d events, %d rows",
		want.count("TABLE "), want.count("TRIGGER "), want.count("FUNCTION ")+want.count("PROCEDURE "), want.count("EVENT "), rowsOf(want))
	return db, want
}

// TestDataDirectoryIsCopied brings up instances from the data directory of a plain
// server, one that was stopped and one that was killed: the same content, and not a
// byte or a time of the source changed.
func TestDataDirectoryIsCopied(t *testing.T) {
	h := newHouse(t)
	plain := newPlain(t, h.srv)
	file := filepath.Join(t.TempDir(), "menagerie.sql")
	if err := os.WriteFile(file, []byte(menagerie(h.srv)), 0o600); err != nil {
		t.Fatal(err)
	}
	plain.load("", file)
	databases := []string{"menagerie", "annex"}
	for _, test := range []struct {
		name string
		end  func()
	}{
		{"stopped", plain.stop},
		{"killed", plain.kill},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.during(t)
			plain.during(t)
			exe(t, plain.db, "INSERT INTO menagerie.diary SELECT CONCAT('"+test.name+"', seq) FROM "+numbers(20000))
			want := describeAll(t, plain.db, databases)
			test.end()
			before := listFiles(t, plain.dataDir())
			db := openDSN(t, h.ramaria("up", test.name, "--from", plain.dataDir(), "--server", h.daemon()))
			if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
				t.Errorf("other than the source (-) after up (+):\n%s", diff)
			}
			if err := checkTables(t.Context(), db); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(before, listFiles(t, plain.dataDir())); diff != "" {
				t.Errorf("the source changed:\n%s", diff)
			}
			plain.start() // the source still is a data directory
			if diff := cmp.Diff(want, describeAll(t, plain.db, databases)); diff != "" {
				t.Errorf("the source has other content than before:\n%s", diff)
			}
			if cmp.Equal(before, listFiles(t, plain.dataDir())) {
				t.Error("a server ran on the source, and the list of its files says nothing changed")
			}
		})
	}
}

func openDSN(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := openURL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// listFiles describes every file below dir: kind, mode, owner's times and content.
func listFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s %s", fi.Mode(), fi.ModTime().Format("15:04:05.999999999"))
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
		}
		list[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

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
	// What SHOW CREATE VIEW says depends on the current database.
	if _, err := conn.ExecContext(ctx, "USE information_schema"); err != nil {
		t.Fatal(err)
	}
	d := description{}
	in := "('" + strings.Join(databases, "', '") + "')"
	name := func(schema, object string) string {
		return server.QuoteName(schema) + "." + server.QuoteName(object)
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

//go:embed testdata/menagerie.sql
var menagerieSQL string

// menagerie returns a dump with one of everything, and some thousand rows.
func menagerie(srv *server.Server) string {
	const keepers, animals, fed = 40, 900, 3000
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same at each run
	var b strings.Builder
	b.WriteString("LOCK TABLES `keeper` WRITE;\nINSERT INTO `keeper` (`id`, `name`, `boss`, `wage`, `shift`, `hired`) VALUES\n")
	for i := 1; i <= keepers; i++ {
		boss := "NULL"
		if i > 1 {
			boss = fmt.Sprint(1 + r.IntN(i-1))
		}
		fmt.Fprintf(&b, "%s(%d,'K%dä',%s,%d.%02d,'dawn,night','20%02d-0%d-1%d')", comma(i), i, i, boss, r.IntN(99999), r.IntN(100), r.IntN(30), 1+r.IntN(9), r.IntN(10))
	}
	b.WriteString(";\nUNLOCK TABLES;\nINSERT INTO `animal` (`id`, `keeper`, `name`, `kind`, `born`, `seen`, `weight`, `cage`, `about`, `facts`, `photo`, `flags`) VALUES\n")
	for i := 1; i <= animals; i++ {
		photo := make([]byte, r.IntN(2000))
		if i == 7 {
			photo = make([]byte, 300<<10) // on pages of its own
		}
		for j := range photo {
			photo[j] = byte(r.Uint32())
		}
		fmt.Fprintf(&b, `%s(%d,%d,'%s','don''t know','19%02d-12-31 23:59:59.%06d','2020-01-01 00:00:%02d',%g,ST_GeomFromText('POINT(%d %d)'),'a; b\n-- c\t\\ %s','{"legs": %d, "n": ["ä", null, 1.5]}',0x00%x,b'%b')`,
			comma(i), i, 1+r.IntN(keepers), []string{"Łoś", "🐘", `O\'Hare`, "", `\\`, "a;b"}[i%6], r.IntN(100), r.IntN(1000000), r.IntN(60),
			float64(r.IntN(1000000))/64, r.IntN(180)-90, r.IntN(90), strings.Repeat("word ", r.IntN(40)), r.IntN(9), photo, r.IntN(4096))
	}
	b.WriteString(";\nSET autocommit=0;\n")
	for i := range fed {
		fmt.Fprintf(&b, "INSERT IGNORE INTO `feeding` VALUES ('%04d-%02d-%02d',%d,%d);\n", 1990+r.IntN(50), 1+r.IntN(12), 1+r.IntN(28), 1+r.IntN(animals), r.IntN(999))
		fmt.Fprintf(&b, "INSERT INTO `ticket` VALUES (%d,%d.5);\n", i, r.IntN(50))
	}
	b.WriteString("COMMIT;\nSET autocommit=1;\n")
	return strings.Replace(strings.Join(dialect(srv, strings.SplitAfter(menagerieSQL, "\n")...), ""), "-- ROWS\n", b.String(), 1)
}

// comma separates rows.
func comma(i int) string {
	if i == 1 {
		return ""
	}
	return ",\n"
}
