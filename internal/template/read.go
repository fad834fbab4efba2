package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// ErrNoDatabase says that there is no such database.
var ErrNoDatabase = errors.New("no such database")

// Read reads the shape of a database, which is the session's afterwards.
func Read(ctx context.Context, conn *sql.Conn, name string) (*Shape, error) {
	return ReadSome(ctx, conn, name, func(string) bool { return true })
}

// ReadSome is Read with the definitions of those tables only that defined wants: each
// costs a question of its own.
func ReadSome(ctx context.Context, conn *sql.Conn, name string, defined func(table string) bool) (*Shape, error) {
	r := reader{ctx: ctx, conn: conn, shape: &Shape{Name: name, Sums: &Sums{}}, defined: defined}
	for _, step := range []func() error{r.database, r.tables, r.columns, r.counts, r.keys, r.definitions, r.objects} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("read database %s: %w", name, err)
		}
	}
	keys, err := foreignKeys(&r)
	if err != nil {
		return nil, fmt.Errorf("read database %s: %w", name, err)
	}
	if r.shape.Following, err = following(&r); err != nil {
		return nil, fmt.Errorf("read database %s: %w", name, err)
	}
	r.shape.Keys = keys
	return r.shape, nil
}

// reader fills in a Shape.
type reader struct {
	ctx   context.Context
	conn  *sql.Conn
	shape *Shape
	// defined says of which tables the definition is wanted.
	defined func(table string) bool
}

// each runs a query and calls f for each row, with the texts of its columns by name.
func (r *reader) each(f func(row map[string]string) error, query string, args ...any) error {
	rows, err := r.conn.QueryContext(r.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := texts(rows)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if err := f(row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// texts returns the row that rows stands at: the texts of its columns by name, in lower case.
func texts(rows *sql.Rows) (map[string]string, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := make(map[string]string, len(names))
	for i, name := range names {
		row[strings.ToLower(name)] = string(values[i])
	}
	return row, nil
}

func (r *reader) database() error {
	found := false
	err := r.each(func(row map[string]string) error {
		found = true
		r.shape.Charset, r.shape.Collation, r.shape.Folds = row["charset"], row["collation"], row["folds"] == "1"
		return nil
	}, "SELECT default_character_set_name AS charset, default_collation_name AS collation, @@lower_case_table_names AS folds FROM information_schema.schemata WHERE schema_name = ?", r.shape.Name)
	if err == nil && !found {
		return ErrNoDatabase
	}
	if err != nil {
		return err
	}
	// Within its own database the server writes the names in a view without it.
	if _, err = r.conn.ExecContext(r.ctx, "USE "+dbconn.QuoteName(r.shape.Name)); err != nil {
		return err
	}
	return r.each(func(row map[string]string) error {
		r.shape.Options = options(row)
		return nil
	}, "SHOW CREATE DATABASE "+dbconn.QuoteName(r.shape.Name))
}

// options is what SHOW CREATE DATABASE says behind the name, but for READ ONLY: a clone is to be
// written to.
func options(row map[string]string) string {
	_, rest, _ := strings.Cut(row["create database"], dbconn.QuoteName(row["database"]))
	return strings.TrimSpace(strings.TrimSuffix(rest, "/* READ ONLY = 1 */"))
}

func (r *reader) tables() error {
	err := r.each(func(row map[string]string) error {
		r.shape.Tables = append(r.shape.Tables, Table{
			Name: row["name"], Kind: Kind(row["kind"]), Engine: row["engine"],
			Bytes: int64(number(row["bytes"])), Rows: int64(number(row["row_count"])), // #nosec G115 -- far below
		})
		return nil
	}, "SELECT table_name AS name, table_type AS kind, engine AS engine, data_length + index_length AS bytes, table_rows AS row_count "+
		"FROM information_schema.tables WHERE table_schema = ? AND table_type NOT IN ('VIEW', 'TEMPORARY')", r.shape.Name)
	slices.SortFunc(r.shape.Tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// number is 0 for what is none.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (r *reader) columns() error {
	return r.each(func(row map[string]string) error {
		if t := r.shape.Table(row["of"]); t != nil {
			t.Columns = append(t.Columns, Column{
				Name: row["name"], Generated: says(row["extra"], "GENERATED"), Stored: says(row["extra"], "STORED") || says(row["extra"], "PERSISTENT"), Counts: says(row["extra"], "AUTO_INCREMENT"), Period: strings.HasPrefix(row["expression"], "ROW "), Type: row["type"],
			})
		}
		return nil
	}, "SELECT table_name AS `of`, column_name AS name, extra AS extra, generation_expression AS expression, data_type AS type FROM information_schema.columns WHERE table_schema = ? ORDER BY table_name, ordinal_position", r.shape.Name)
}

// counts asks for the rows of the tables all of whose columns are computed.
func (r *reader) counts() error {
	for i := range r.shape.Tables {
		t := &r.shape.Tables[i]
		if columns, _ := t.given(); columns != nil || t.Kind != Base || !r.defined(t.Name) {
			continue
		}
		err := r.each(func(row map[string]string) error {
			t.Count = int64(number(row["n"])) // #nosec G115 -- far below
			return nil
		}, "SELECT COUNT(*) AS n FROM "+dbconn.QuoteName(t.Name))
		if err != nil {
			return err
		}
	}
	return nil
}

// says reports whether a column's EXTRA has a word: GENERATED of one that is computed, while
// MySQL says DEFAULT_GENERATED of one whose default is an expression. MariaDB puts commas between.
func says(extra, word string) bool {
	return slices.Contains(strings.FieldsFunc(strings.ToUpper(extra), func(c rune) bool { return c == ' ' || c == ',' }), word)
}

func (r *reader) keys() error {
	err := r.each(func(row map[string]string) error {
		if t := r.shape.Table(row["of"]); t != nil {
			t.Keyed = true
		}
		return nil
	}, "SELECT table_name AS `of` FROM information_schema.statistics WHERE table_schema = ? AND non_unique = 0 "+
		"GROUP BY table_name, index_name HAVING SUM(nullable = 'YES') = 0 AND (SUM(index_name <> 'PRIMARY') = 0 OR COUNT(sub_part) = 0)", r.shape.Name)
	if err != nil {
		return err
	}
	partial := map[string]bool{}
	return r.each(func(row map[string]string) error {
		t := r.shape.Table(row["of"])
		if t == nil || partial[t.Name] {
			return nil
		}
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == row["name"] })
		if i < 0 || t.Columns[i].Generated || row["part"] != "" {
			t.Primary, partial[t.Name] = nil, true
			return nil
		}
		t.Primary = append(t.Primary, i)
		return nil
	}, "SELECT table_name AS `of`, column_name AS name, sub_part AS part FROM information_schema.statistics WHERE table_schema = ? AND index_name = 'PRIMARY' "+
		"ORDER BY table_name, seq_in_index", r.shape.Name)
}

func (r *reader) definitions() error {
	for i := range r.shape.Tables {
		t := &r.shape.Tables[i]
		if !r.defined(t.Name) {
			continue
		}
		if t.Kind == Sequence {
			err := r.each(func(row map[string]string) error {
				t.State = sequenceState(row)
				return nil
			}, "SELECT * FROM "+dbconn.QuoteName(t.Name))
			if err != nil {
				return err
			}
		}
		err := r.each(func(row map[string]string) error {
			t.Create = withoutSystemSpace(row["create table"]) // also of a sequence
			return nil
		}, "SHOW CREATE "+t.statement()+" "+dbconn.QuoteName(t.Name))
		if err != nil {
			return err
		}
	}
	return nil
}

// objectQueries list the objects of each sort, in the order in which they are made:
// routines before the views that call them, triggers in the order in which they fire.
var objectQueries = []string{
	"SELECT routine_type AS kind, routine_name AS name, '' AS `of`, character_set_client AS client FROM information_schema.routines WHERE routine_schema = ? ORDER BY routine_type, routine_name",
	"SELECT 'VIEW' AS kind, table_name AS name, '' AS `of`, character_set_client AS client FROM information_schema.views WHERE table_schema = ? ORDER BY table_name",
	"SELECT 'TRIGGER' AS kind, trigger_name AS name, event_object_table AS `of`, character_set_client AS client FROM information_schema.triggers WHERE event_object_schema = ? " +
		"ORDER BY event_object_table, action_timing, event_manipulation, action_order",
	"SELECT 'EVENT' AS kind, event_name AS name, '' AS `of`, character_set_client AS client FROM information_schema.events WHERE event_schema = ? ORDER BY event_name",
}

func (r *reader) objects() error {
	for _, query := range objectQueries {
		err := r.each(func(row map[string]string) error {
			r.shape.Objects = append(r.shape.Objects, Object{Kind: row["kind"], Name: row["name"], Table: row["of"], Client: row["client"]})
			return nil
		}, query, r.shape.Name)
		if err != nil {
			return err
		}
	}
	for i := range r.shape.Objects {
		if err := r.object(&r.shape.Objects[i]); err != nil {
			return err
		}
	}
	sortViews(r.shape.Objects)
	return nil
}

// object reads the statement that makes an object, in the bytes that it was written in: a
// body may hold literals of another character set than this session's.
func (r *reader) object(o *Object) (err error) {
	if o.Client != "utf8mb4" && o.Client != "" {
		if _, err := r.conn.ExecContext(r.ctx, "SET character_set_results = "+dbconn.Quote(o.Client)); err != nil {
			return err
		}
		defer func() {
			_, back := r.conn.ExecContext(r.ctx, "SET character_set_results = 'utf8mb4'")
			err = errors.Join(err, back)
		}()
	}
	return r.each(o.shown, o.show())
}

// show is the question for the statement that makes an object of the session's database.
func (o *Object) show() string { return "SHOW CREATE " + o.Kind + " " + dbconn.QuoteName(o.Name) }

// shown takes in the answer to show.
func (o *Object) shown(row map[string]string) error {
	o.Create = row["create "+strings.ToLower(o.Kind)]
	if o.Kind == "TRIGGER" {
		o.Create = row["sql original statement"]
	}
	o.SQLMode, o.Connection, o.Zone, o.Collation = row["sql_mode"], row["collation_connection"], row["time_zone"], row["database collation"]
	if o.Create == "" {
		return fmt.Errorf("%s %s: the server does not show it", strings.ToLower(o.Kind), o.Name)
	}
	return nil
}

// sortViews puts views behind those that they name. The rest stays where it is.
func sortViews(objects []Object) {
	first := slices.IndexFunc(objects, func(o Object) bool { return o.Kind == "VIEW" })
	if first < 0 {
		return
	}
	views := objects[first:]
	if n := slices.IndexFunc(views, func(o Object) bool { return o.Kind != "VIEW" }); n >= 0 {
		views = views[:n]
	}
	var sorted []Object
	done := map[string]bool{}
	var place func(v Object)
	place = func(v Object) {
		if done[v.Name] {
			return
		}
		done[v.Name] = true
		for _, w := range views {
			if strings.Contains(v.Create, dbconn.QuoteName(w.Name)) {
				place(w)
			}
		}
		sorted = append(sorted, v)
	}
	for _, v := range views {
		place(v)
	}
	copy(views, sorted)
}

// Analyze makes the server count the rows of a database's tables again, by which it is
// decided whether to undo changes or to fill a table.
func Analyze(ctx context.Context, conn *sql.Conn, name string) error {
	r := reader{ctx: ctx, conn: conn, shape: &Shape{Name: name}}
	if err := r.database(); err != nil {
		return fmt.Errorf("analyze database %s: %w", name, err)
	}
	if err := r.tables(); err != nil {
		return fmt.Errorf("analyze database %s: %w", name, err)
	}
	var list []string
	for _, t := range r.shape.Tables {
		if t.Kind == Base {
			list = append(list, dbconn.QuoteName(t.Name))
		}
	}
	for _, lot := range dbconn.Lots(list) {
		if err := r.each(func(map[string]string) error { return nil }, "ANALYZE LOCAL TABLE "+strings.Join(lot, ", ")); err != nil {
			return err
		}
	}
	return nil
}
