package durable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Verification is a comparison of an instance with what its archive gives.
type Verification struct {
	// At is up to where the log was replayed, and Time when the snapshot was taken that it was compared
	// with.
	At        archive.Position
	Time      time.Time
	Recovered Recovered
	Tables    int
	// Differences are what differs; none is what is hoped for.
	Differences []string
}

// mostDifferences bounds how many are told.
const mostDifferences = 20

// Verify recovers from the archive what a snapshot, which was proven, has up to its end, and compares
// the two. The archive may be written to meanwhile.
func (s *Snapshot) Verify(ctx context.Context, dir string, at archive.Position) (v Verification, err error) {
	m, err := Read(dir)
	if err != nil {
		return v, err
	}
	a := &Archive{Dir: dir, Disk: archive.OSDisk{Dir: dir, ReadOnly: true}, Manifest: m}
	plan, err := Latest(m)
	if err != nil {
		return v, err
	}
	plan.Until = Until{Epoch: m.Last().Number, At: at}
	other := *s.Instance
	other.Dir = filepath.Join(s.Dir, "verify")
	other.RunDir, other.Volume = s.RunDir+"-verify", s.Volume
	if err := roomFor(s.Dir, plan.Base.Size); err != nil {
		return v, err
	}
	if err := os.Mkdir(other.Dir, 0o711); err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(other.RunDir)) }()
	if v.Recovered, err = a.Fill(ctx, &other, plan, nil); err != nil {
		return v, err
	}
	v.At, v.Time = at, time.Now()
	copied := *s
	copied.Instance, copied.Dir, copied.DataDir, copied.RunDir, copied.TmpDir = &other, other.Dir, other.DataDir(), other.RunDir, filepath.Join(other.Dir, "tmp")
	v.Tables, v.Differences, err = s.compare(ctx, &copied)
	return v, err
}

// verifyRoom is what recovering takes beyond the files of a base, in bytes: the log, redo logs, temporary
// files of two servers.
const verifyRoom = 256 << 20

// roomFor refuses a comparison that would fill what the instance needs.
func roomFor(dir string, size int64) error {
	fs, err := sys.Statfs(dir)
	if err != nil {
		return err
	}
	if need := size + verifyRoom; fs.Avail < need {
		return fmt.Errorf("verify: %d MB are needed beside the instance, and %d are free", need>>20, fs.Avail>>20)
	}
	return nil
}

// compare starts servers on two data directories and compares what they hold.
func (s *Snapshot) compare(ctx context.Context, other *Snapshot) (tables int, differences []string, err error) {
	ours, err := s.start(ctx, false)
	if err != nil {
		return 0, nil, err
	}
	defer ours.close()
	theirs, err := other.start(ctx, false)
	if err != nil {
		return 0, nil, err
	}
	defer theirs.close()
	a, err := describe(ctx, ours.db, s.Instance.Server)
	if err != nil {
		return 0, nil, err
	}
	b, err := describe(ctx, theirs.db, s.Instance.Server)
	if err != nil {
		return 0, nil, err
	}
	for name, was := range a {
		if is, there := b[name]; !there {
			differences = append(differences, name+" is missing")
		} else if is != was {
			differences = append(differences, name+" differs")
		}
		if strings.HasPrefix(name, tablePrefix) {
			tables++
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			differences = append(differences, name+" should not be there")
		}
	}
	if err := errors.Join(ours.stop(ctx), theirs.stop(ctx)); err != nil {
		return 0, nil, err
	}
	return tables, differences[:min(len(differences), mostDifferences)], nil
}

const tablePrefix = "table "

// counter is what moves without a trace in the log, as when a transaction is rolled back.
var counter = regexp.MustCompile(` AUTO_INCREMENT=[0-9]+`)

// described are queries of a name and a text each, of everything that an application makes.
var described = map[string]string{
	"schema ":  "SELECT schema_name, CONCAT(default_character_set_name, default_collation_name) FROM information_schema.schemata",
	"view ":    "SELECT CONCAT(table_schema, '.', table_name), CONCAT(view_definition, definer, security_type) FROM information_schema.views WHERE table_schema <> 'sys'",
	"trigger ": "SELECT CONCAT(trigger_schema, '.', trigger_name), CONCAT(event_object_table, action_timing, event_manipulation, action_statement, definer) FROM information_schema.triggers WHERE trigger_schema <> 'sys'",
	"routine ": "SELECT CONCAT(routine_schema, '.', routine_name), CONCAT(routine_type, COALESCE(routine_definition, ''), definer, sql_mode) FROM information_schema.routines WHERE routine_schema <> 'sys'",
	"event ":   "SELECT CONCAT(event_schema, '.', event_name), CONCAT(event_definition, definer, status) FROM information_schema.events",
}

// describe is everything that an application makes, by name.
func describe(ctx context.Context, db *sql.DB, srv *server.Server) (map[string]string, error) {
	out := map[string]string{}
	for kind, query := range described {
		if err := eachRow(ctx, db, query, func(name, text string) { out[kind+name] = text }); err != nil {
			return nil, err
		}
	}
	accounts := "SELECT CONCAT(User, '@', Host), '' FROM (" + srv.Dialect().Users + ") u"
	if err := eachRow(ctx, db, accounts, func(name, text string) { out["account "+name] = text }); err != nil {
		return nil, err
	}
	var tables []string
	const query = `SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SEQUENCE')
		AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')`
	if err := eachRow(ctx, db, query, func(schema, table string) {
		tables = append(tables, dbconn.QuoteName(schema)+"."+dbconn.QuoteName(table))
	}); err != nil {
		return nil, err
	}
	byRows, err := byRows(ctx, db, srv.Flavour)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		// The name, and after it the sum or the statement.
		sum := "CHECKSUM TABLE " + t
		if columns := byRows[t]; len(columns) > 0 {
			sum = sumOfRows(t, columns)
		}
		if err := eachRow(ctx, db, sum, func(_, sum string) { out[tablePrefix+t] = sum }); err != nil {
			return nil, err
		}
		if err := eachRow(ctx, db, "SHOW CREATE TABLE "+t, func(_, text string) { out["definition of "+t] = counter.ReplaceAllString(text, "") }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byRows are the tables that CHECKSUM TABLE cannot compare, and what each of their columns is compared by. It takes in what
// MySQL keeps hidden for an index of an expression: of one over the elements of an array that is what was written last until
// the table is opened again, and something else then, of the same rows.
func byRows(ctx context.Context, db *sql.DB, flavour server.Flavour) (map[string][]string, error) {
	if flavour != server.MySQL {
		return nil, nil
	}
	// What is hidden is not among the columns. A number that is not exact has all its digits as a double only, and a time may
	// be there twice in the hour in which summer ends.
	const query = "SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'), '`')," + `
			REPLACE(CASE data_type WHEN 'float' THEN '? + 0e0' WHEN 'double' THEN '? + 0e0' WHEN 'timestamp' THEN 'UNIX_TIMESTAMP(?)' ELSE '?' END,
				'?', CONCAT(` + "'`', REPLACE(column_name, '`', '``'), '`'" + `))
		FROM information_schema.columns
		WHERE (table_schema, table_name) IN (SELECT table_schema, table_name FROM information_schema.statistics WHERE expression IS NOT NULL)
		ORDER BY table_schema, table_name, ordinal_position`
	columns := map[string][]string{}
	err := eachRow(ctx, db, query, func(table, column string) { columns[table] = append(columns[table], column) })
	return columns, err
}

// sumOfRows is a query of how many rows a table has, and of what they are, in whatever order: a row that is there twice
// counts twice.
func sumOfRows(table string, columns []string) string {
	sums := make([]string, len(columns))
	for n, c := range columns {
		sums[n] = "COALESCE(SHA2(" + c + ", 256), 'NULL')" // of equal length whatever they are, so that no packet is too small
	}
	row := "SHA2(CONCAT_WS(' ', " + strings.Join(sums, ", ") + "), 256)"
	return "SELECT COUNT(*), CONCAT(COUNT(*), ' ', COALESCE(SUM(CAST(CONV(LEFT(" + row + ", 15), 16, 10) AS UNSIGNED)), 0)) FROM " + table
}

// eachRow calls f with the first two columns of every row.
func eachRow(ctx context.Context, db *sql.DB, query string, f func(first, second string)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b sql.NullString
		if err := rows.Scan(&a, &b); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		f(a.String, b.String)
	}
	return rows.Err()
}
