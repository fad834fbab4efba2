package binlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described says what a statement does, in short.
func described(t *testing.T, f *Format, text []byte) []string {
	t.Helper()
	var lines []string
	for _, e := range parseStatement(t, f, text) {
		if e.ServerID != 9 || e.Timestamp != 5 {
			t.Errorf("server %d, time %d", e.ServerID, e.Timestamp)
		}
		if e.Type == TableMapEvent {
			m, err := ParseTableMap(&e)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("map %d %s", m.ID, m.Table))
			continue
		}
		r, err := ParseRows(&e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %d flags %x: %q", e.Type, r.TableID, le.Uint16(e.Body[6:]), r.images))
	}
	return lines
}

func TestInvert(t *testing.T) {
	f := testFormat(t, true)
	sent, err := ParseFormat(f.Event())
	if err != nil {
		t.Fatal(err)
	}
	types := []byte{typeTiny}
	a, b := makeMap(t, 200, "a", types, nil), makeMap(t, 100, "b", types, nil)
	again := makeMap(t, 201, "a", types, nil)
	rows := func(m *TableMap, typ EventType, images string) Change {
		return Change{m, makeRows(t, typ, byte(m.ID), 1, images)}
	}
	changes := []Change{
		rows(a, WriteRowsV1, "\x00a\x00b\x00c"),
		rows(b, WriteRowsV1, "\x00x"),
		rows(a, UpdateRowsV1, "\x00a\x00A"+"\x00b\x00B"),
		rows(b, WriteRowsV1, "\x00y"),
		rows(again, UpdateRowsV1, "\x00A\x00Z"),
		rows(again, DeleteRowsV1, "\x00c\x00Z"),
	}
	for _, c := range []struct {
		name string
		o    InvertOptions
		want [][]string
	}{
		{"gathered", InvertOptions{Flavour: MariaDB}, [][]string{{
			"map 1 a", "map 2 b",
			`WRITE_ROWS_V1 1 flags 82: "\x00Z\x00c"`,
			`UPDATE_ROWS_V1 1 flags 82: "\x00Z\x00A\x00B\x00b\x00A\x00a"`,
			`DELETE_ROWS_V1 1 flags 82: "\x00c\x00b\x00a"`,
			`DELETE_ROWS_V1 2 flags 83: "\x00y\x00x"`,
		}}},
		{"MySQL finds rows as they were before the event", InvertOptions{Flavour: MySQL}, [][]string{{
			"map 1 a", "map 2 b",
			`WRITE_ROWS_V1 1 flags 2: "\x00Z\x00c"`,
			`UPDATE_ROWS_V1 1 flags 2: "\x00Z\x00A\x00B\x00b"`,
			`UPDATE_ROWS_V1 1 flags 2: "\x00A\x00a"`,
			`DELETE_ROWS_V1 1 flags 2: "\x00c\x00b\x00a"`,
			`DELETE_ROWS_V1 2 flags 3: "\x00y\x00x"`,
		}}},
		{"in two statements", InvertOptions{Flavour: MySQL, MaxBytes: 200}, [][]string{{
			"map 1 a",
			`WRITE_ROWS_V1 1 flags 2: "\x00Z\x00c"`,
			`UPDATE_ROWS_V1 1 flags 2: "\x00Z\x00A\x00B\x00b"`,
			`UPDATE_ROWS_V1 1 flags 3: "\x00A\x00a"`,
		}, {
			"map 1 a", "map 2 b",
			`DELETE_ROWS_V1 1 flags 2: "\x00c\x00b\x00a"`,
			`DELETE_ROWS_V1 2 flags 3: "\x00y\x00x"`,
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.ServerID = 9
			inv, err := Invert(changes, c.o)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for _, s := range inv.Statements {
				if c.o.MaxBytes > 0 && len(s) > c.o.MaxBytes {
					t.Errorf("a statement of %d bytes", len(s))
				}
				got = append(got, described(t, sent, s))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			counts := []TableCount{{Schema: "d", Table: "a", Deleted: 3, Inserted: 2, Updated: 3}, {Schema: "d", Table: "b", Deleted: 2}}
			if diff := cmp.Diff(counts, inv.Tables); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInvertByKey looks for rows of the table a by its second and third column, of b, whose key is
// not known, by all.
func TestInvertByKey(t *testing.T) {
	f := testFormat(t, false)
	types, meta := []byte{typeVarchar, typeTiny, typeShort, typeTiny}, []byte{10, 0}
	a, b := makeMap(t, 1, "a", types, meta), makeMap(t, 2, "b", types, meta)
	rows := func(m *TableMap, typ EventType, images string) Change {
		return Change{m, makeRows(t, typ, byte(m.ID), 4, images)}
	}
	lacking, err := ParseRows(&Event{Type: UpdateRowsV2, Format: f, Timestamp: 5, Body: lack(rowsBody(UpdateRowsV2, 1, 4, "\x00\x01\x02\x02\x07"+"\x00\x01\x02\x02\x08"), UpdateRowsV2, 4, 0)})
	if err != nil {
		t.Fatal(err)
	}
	changes := []Change{
		rows(a, WriteRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x01\x08\x09\x09\x07"),
		rows(a, DeleteRowsV1, "\x08\x01x\x05\x06\x06"),
		rows(a, UpdateRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x00\x01y\x05\x06\x06\x07"), // one column
		rows(a, UpdateRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x00\x01x\x05\x06\x06\x07"), // none
		rows(a, UpdateRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x09\x05\x06\x06"+ // two, to NULL
			"\x00\x01z\x01\x02\x02\x07"+"\x00\x01z\x01\x02\x02\x07"),
		rows(a, UpdateRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x00\x01x\x15\x06\x06\x07"), // of the key
		{a, lacking},
		rows(b, UpdateRowsV1, "\x00\x01x\x05\x06\x06\x07"+"\x00\x01y\x05\x06\x06\x07"),
	}
	inv, err := Invert(changes, InvertOptions{Flavour: MariaDB, ServerID: 9, Key: func(m *TableMap) []int {
		if m.Table == "a" {
			return []int{2, 1}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range parseStatement(t, f, inv.Statements[0])[2:] {
		got = append(got, fmt.Sprintf("%s %q", e.Type, e.Body[9:]))
	}
	want := []string{
		`UPDATE_ROWS_V1 "\x0f\x0f\x00\x01y\x05\x06\x06\a\x00\x01x\x05\x06\x06\a"`, // b
		`UPDATE_ROWS "\x00\x04\x06\b\x00\x01\x02\x02\x00\a"`,
		`UPDATE_ROWS_V1 "\x06\x02\x00\x15\x06\x06\x00\x05"`,
		`UPDATE_ROWS_V1 "\x06\t\x00\x01\x02\x02\x00\x01z\a\x00\x05\x06\x06\x00\x01x\a"`,
		`UPDATE_ROWS_V1 "\x06\x01\x00\x05\x06\x06\x00\x01x"`,
		`WRITE_ROWS_V1 "\x0f\b\x01x\x05\x06\x06"`,
		`DELETE_ROWS_V1 "\x06\x00\b\t\t\x00\x05\x06\x06"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	inv, err = Invert(changes[3:4], InvertOptions{Flavour: MariaDB, Key: func(*TableMap) []int { return []int{1} }})
	if err != nil || len(inv.Statements) != 0 {
		t.Errorf("an update of nothing: %q, %v", inv.Statements, err)
	}
}

func TestInvertRefuses(t *testing.T) {
	one := makeMap(t, 1, "t", []byte{typeTiny}, nil)
	other := makeMap(t, 1, "t", []byte{typeShort}, nil)
	r := makeRows(t, WriteRowsV2, 1, 1, "\x00a")
	var c *CorruptError
	if _, err := Invert([]Change{{one, r}, {other, r}}, InvertOptions{}); !errors.As(err, &c) || !strings.Contains(err.Error(), "d.t") {
		t.Errorf("another shape: %v", err)
	}
	if _, err := Invert([]Change{{other, r}}, InvertOptions{}); !errors.As(err, &c) {
		t.Errorf("corrupt rows: %v", err)
	}
	var large *TooLargeError
	if _, err := Invert([]Change{{one, r}}, InvertOptions{MaxBytes: 50}); !errors.As(err, &large) {
		t.Errorf("too large: %v", err)
	}
	inv, err := Invert(nil, InvertOptions{})
	if err != nil || len(inv.Statements) != 0 {
		t.Errorf("nothing: %v, %v", inv, err)
	}
}

func BenchmarkInvert(b *testing.B) {
	m := makeMap(b, 1, "t", []byte{typeLong, typeVarchar}, []byte{100, 0})
	changes := make([]Change, 10_000)
	for i := range changes {
		changes[i] = Change{m, makeRows(b, WriteRowsV2, 1, 2, "\x00abcd\x20"+strings.Repeat("x", 32))}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Invert(changes, InvertOptions{Flavour: MySQL}); err != nil {
			b.Fatal(err)
		}
	}
}
