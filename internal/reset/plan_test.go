package reset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// planShape has grand (a parent), its child, that one's grandchild, a table that is its
// own parent, one that restricts, and a few more.
func planShape() *template.Shape {
	base := func(name string, rows int64) template.Table {
		return template.Table{Name: name, Kind: template.Base, Rows: rows, Keyed: true, Engine: "InnoDB", Columns: []template.Column{{Name: "a"}}}
	}
	bare := base("bare", 10)
	bare.Keyed = false
	return &template.Shape{Name: "t",
		Tables: []template.Table{
			bare, base("big", 100000), base("child", 10), base("grandchild", 10), base("guard", 10), {Name: "history", Kind: template.Versioned}, base("parent", 10),
			base("selfish", 10), base("small", 0), {Name: "tickets", Kind: template.Sequence},
		},
		Keys: []template.ForeignKey{
			{Child: "child", Parent: "parent", Columns: []int{0}, OnDelete: true, OnUpdate: true},
			{Child: "grandchild", Parent: "child", Columns: []int{0}, OnDelete: true},
			{Child: "selfish", Parent: "selfish", Columns: []int{0}, OnDelete: true},
			{Child: "guard", Parent: "parent", Columns: []int{0}},
		},
	}
}

// rowsOf are changes of a table of one int column, made as the log has them: each row is a
// byte of null bits and the value, an update two of them.
func rowsOf(t *testing.T, table string, kind binlog.RowKind, values ...byte) *reset.TableChanges {
	t.Helper()
	m, r := event(t, table, kind, 1, values)
	return &reset.TableChanges{Rows: []binlog.Change{{Map: m, Rows: r}}}
}

// lacking is rowsOf for a log that does not have the column.
func lacking(t *testing.T, table string, kind binlog.RowKind, rows int) *reset.TableChanges {
	t.Helper()
	m, r := event(t, table, kind, 0, make([]byte, rows))
	return &reset.TableChanges{Rows: []binlog.Change{{Map: m, Rows: r}}}
}

func event(t *testing.T, table string, kind binlog.RowKind, bitmap byte, values []byte) (*binlog.TableMap, binlog.Rows) {
	t.Helper()
	f := &binlog.Format{Version: "10.11.6-MariaDB", Flavour: binlog.MariaDB}
	body := append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 'd', 0, byte(len(table))}, table...)
	body = append(body, 0, 1, 1, 0, 1) // one TINYINT that may be NULL
	m, err := binlog.ParseTableMap(&binlog.Event{Type: binlog.TableMapEvent, Body: body, Format: f})
	if err != nil {
		t.Fatal(err)
	}
	body = []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, bitmap}
	if kind == binlog.Update {
		body = append(body, bitmap)
	}
	for _, v := range values {
		body = append(body, 0xfe, v)
	}
	r, err := binlog.ParseRows(&binlog.Event{Type: map[binlog.RowKind]binlog.EventType{binlog.Write: binlog.WriteRowsV1, binlog.Update: binlog.UpdateRowsV1, binlog.Delete: binlog.DeleteRowsV1}[kind], Body: body, Format: f})
	if err != nil {
		t.Fatal(err)
	}
	return m, r.Clone()
}

func TestMake(t *testing.T) {
	type tables = map[string]*reset.TableChanges
	write := func(table string, n int) *reset.TableChanges {
		return rowsOf(t, table, binlog.Write, make([]byte, n)...)
	}
	touched := func(names ...string) map[string]bool {
		set := map[string]bool{}
		for _, n := range names {
			set[n] = true
		}
		return set
	}
	for _, tc := range []struct {
		name    string
		changes reset.Changes
		logged  bool
		want    string
		suspect []string
	}{
		{name: "nothing", want: "noop"},
		{name: "prepared", changes: reset.Changes{Prepared: []binlog.XID{{Global: "a"}}}, want: "noop, roll back 1 XA transactions"},
		{name: "a row", changes: reset.Changes{Tables: tables{"parent": write("parent", 1)}}, want: "rewind, undo 1 events"},
		{name: "two tables", changes: reset.Changes{Tables: tables{"parent": write("parent", 1), "big": write("big", 5)}}, want: "rewind, undo 2 events"},
		{name: "an image that lacks a column", changes: reset.Changes{Tables: tables{"big": lacking(t, "big", binlog.Delete, 1)}}, want: "refill, fill big: the binary log does not have all columns of big"},
		{name: "cheaper to fill", changes: reset.Changes{Tables: tables{"small": write("small", 3000)}}, want: "refill, fill small: filling small again is cheaper than undoing 3000 rows"},
		{name: "cheaper to undo", changes: reset.Changes{Tables: tables{"big": write("big", 3000)}}, want: "rewind, undo 1 events"},
		{name: "needs a refill", changes: reset.Changes{Tables: tables{"big": {NeedsRefill: true}, "small": write("small", 1)}},
			want: "refill, undo 1 events, fill big: what happened to the rows of big is not known, or too much to keep"},
		{name: "no key", changes: reset.Changes{Tables: tables{"bare": write("bare", 1)}}, want: "refill, fill bare: rows of bare, which has no key, would come back in another order"},

		{name: "cascade", changes: reset.Changes{Tables: tables{"parent": rowsOf(t, "parent", binlog.Delete, 1)}},
			want: "refill, undo 1 events, fill child grandchild: a foreign key may have changed child, and the server does not log that"},
		{name: "cascade that is logged", logged: true, changes: reset.Changes{Tables: tables{"parent": rowsOf(t, "parent", binlog.Delete, 1)}}, want: "rewind, undo 1 events"},
		{name: "cascade by an update of the key", changes: reset.Changes{Tables: tables{"parent": rowsOf(t, "parent", binlog.Update, 1, 2)}},
			want: "refill, undo 1 events, fill child grandchild: a foreign key may have changed child, and the server does not log that"},
		{name: "update of the same key", changes: reset.Changes{Tables: tables{"parent": rowsOf(t, "parent", binlog.Update, 1, 1)}}, want: "rewind, undo 1 events"},
		{name: "update where only deletes are followed", changes: reset.Changes{Tables: tables{"child": rowsOf(t, "child", binlog.Update, 1, 2)}}, want: "rewind, undo 1 events"},
		{name: "its own parent", changes: reset.Changes{Tables: tables{"selfish": rowsOf(t, "selfish", binlog.Delete, 1)}},
			want: "refill, fill selfish: a foreign key may have changed selfish, and the server does not log that"},
		{name: "a refill goes down", changes: reset.Changes{Tables: tables{"child": {NeedsRefill: true}}},
			want: "refill, fill child grandchild: what happened to the rows of child is not known, or too much to keep"},

		{name: "statement", logged: true, changes: reset.Changes{Statements: true, Touched: touched("parent", "alter")},
			want: "refill, fill parent, compare shapes: statements changed its shape, or may have", suspect: []string{"child", "guard", "parent"}},
		{name: "statement, cascades unlogged", changes: reset.Changes{Statements: true, Touched: touched("parent")},
			want: "refill, fill child grandchild parent, compare shapes: statements changed its shape, or may have", suspect: []string{"child", "guard", "parent"}},
		{name: "statement about a view", changes: reset.Changes{Statements: true, Touched: touched("heavy")}, want: "refill, compare shapes: statements changed its shape, or may have"},
		{name: "rows of a new table", changes: reset.Changes{Statements: true, Touched: touched("new"), Tables: tables{"new": write("new", 1)}},
			want: "refill, compare shapes: statements changed its shape, or may have"},

		{name: "incomplete", changes: reset.Changes{Incomplete: "no log"}, want: "reclone: no log"},
		{name: "unknown table", changes: reset.Changes{Tables: tables{"new": write("new", 1)}}, want: "reclone: rows of the table new changed, which the template does not have"},
		{name: "versioned", changes: reset.Changes{Tables: tables{"history": write("history", 1)}}, want: "reclone: the table history is a system versioned one, and changed"},
		{name: "sequence altered", changes: reset.Changes{Statements: true, Touched: touched("tickets")}, want: "reclone: a statement may have changed tickets, a sequence table"},
		{name: "exchange", changes: reset.Changes{Statements: true, Touched: touched("exchange", "parent")}, want: "reclone: partitions were exchanged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := reset.Make(&tc.changes, planShape(), tc.logged)
			if p.String() != tc.want {
				t.Errorf("got  %s\nwant %s", p, tc.want)
			}
			var suspect []string
			for _, table := range planShape().Tables {
				if p.Suspect[table.Name] {
					suspect = append(suspect, table.Name)
				}
			}
			if diff := cmp.Diff(tc.suspect, suspect); diff != "" {
				t.Errorf("suspects: %s", diff)
			}
		})
	}
}

// TestComputed deletes a row whose image lacks the second of two columns.
func TestComputed(t *testing.T) {
	f := &binlog.Format{Version: "11.8.9-MariaDB", Flavour: binlog.MariaDB}
	m, err := binlog.ParseTableMap(&binlog.Event{Type: binlog.TableMapEvent, Format: f, Body: []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 'd', 0, 1, 't', 0, 2, 1, 1, 0, 3}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := binlog.ParseRows(&binlog.Event{Type: binlog.DeleteRowsV1, Format: f, Body: []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0xfe, 7}})
	if err != nil {
		t.Fatal(err)
	}
	for generated, want := range map[bool]reset.Way{true: reset.Undo, false: reset.Refill} {
		shape := &template.Shape{Name: "t", Tables: []template.Table{{
			Name: "t", Kind: template.Base, Rows: 1000, Keyed: true, Engine: "InnoDB", Columns: []template.Column{{Name: "a"}, {Name: "b", Generated: generated}},
		}}}
		p := reset.Make(&reset.Changes{Tables: map[string]*reset.TableChanges{"t": {Rows: []binlog.Change{{Map: m, Rows: r}}}}}, shape, false)
		if p.Way != want {
			t.Errorf("computed %t: %s", generated, p)
		}
	}
}

// TestMakeByFile: of a table that is filled by its file fewer rows are undone.
func TestMakeByFile(t *testing.T) {
	changes := func(rows int) *reset.Changes {
		return &reset.Changes{Tables: map[string]*reset.TableChanges{"big": rowsOf(t, "big", binlog.Write, make([]byte, rows)...)}}
	}
	shape := planShape()
	for _, tc := range []struct {
		name  string
		files *template.Files
		rows  int
		want  reset.Way
	}{
		{"without files", nil, 30000, reset.Undo},
		{"by its file", &template.Files{}, 30000, reset.Refill},
		{"a few", &template.Files{}, 3000, reset.Undo},
	} {
		if shape.Files = tc.files; reset.Make(changes(tc.rows), shape, true).Way != tc.want {
			t.Errorf("%s: %d rows: %v, want %s", tc.name, tc.rows, reset.Make(changes(tc.rows), shape, true), tc.want)
		}
	}
}
