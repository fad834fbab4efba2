package binlog

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		typ   byte
		meta  string
		value string
		want  int // -1: does not fit
	}{
		{"TINYINT", typeTiny, "", "\x01", 1},
		{"MEDIUMINT", typeInt24, "", "abc", 3},
		{"DOUBLE", typeDouble, "\x08", "12345678", 8},
		{"DECIMAL(65,30)", typeDecimal, "\x41\x1e", "123456789012345678901234567890", 30},
		{"DECIMAL(14,4)", typeDecimal, "\x0e\x04", "1234567", 7},
		{"BIT(17)", typeBit, "\x01\x02", "abc", 3},
		{"BIT(64)", typeBit, "\x00\x08", "12345678", 8},
		{"DATETIME(5)", typeDatetime2, "\x05", "12345678", 8},
		{"TIME", typeTime2, "\x00", "123", 3},
		{"TIMESTAMP(6)", typeTimestamp2, "\x06", "1234567", 7},
		{"ENUM", typeString, "\xf7\x02", "ab", 2},
		{"SET", typeString, "\xf8\x08", "12345678", 8},
		{"CHAR of 200 bytes", typeString, "\xfe\xc8", "\x02ab", 3},
		{"CHAR of 256 bytes", typeString, "\xee\x00", "\x02\x00ab", 4},
		{"CHAR of 1020 bytes", typeString, "\xce\xfc", "\x02\x00ab", 4},
		{"VARCHAR(255)", typeVarchar, "\xff\x00", "\x02ab", 3},
		{"VARCHAR(256)", typeVarchar, "\x00\x01", "\x02\x00ab", 4},
		{"VARCHAR COMPRESSED", typeVarcharCompressed, "\x00\x01", "\x02\x00ab", 4},
		{"MEDIUMBLOB", typeBlob, "\x03", "\x02\x00\x00ab", 5},
		{"JSON", typeJSON, "\x04", "\x02\x00\x00\x00ab", 6},
		{"VECTOR", typeVector, "\x04", "\x02\x00\x00\x00ab", 6},
		{"short int", typeLong, "", "abc", -1},
		{"short blob", typeBlob, "\x04", "\xff\xff\xff\xffab", -1},
		{"short length", typeBlob, "\x04", "\x01\x00", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := reader{b: []byte(c.meta)}
			col := newColumn(c.typ, &meta)
			if meta.err != nil || len(meta.b) > 0 {
				t.Fatalf("metadata: %v, %d bytes left", meta.err, len(meta.b))
			}
			value := c.value
			if c.want >= 0 {
				value += "more"
			}
			if got := col.length([]byte(value)); got != c.want {
				t.Errorf("length %d, want %d", got, c.want)
			}
		})
	}
}

func TestUnknownColumns(t *testing.T) {
	for name, c := range map[string]struct {
		typ  byte
		meta string
	}{
		"old TIME": {typeTime, ""}, "old DATETIME": {typeDatetime, ""}, "old TIMESTAMP": {typeTimestamp, ""}, "array": {typeTypedArray, "\x03"},
		"array of VARCHAR": {typeTypedArray, "\x0f\x01\x02\x03"}, "future": {200, "abc"}, "blob": {typeBlob, "\x05"}, "string": {typeString, "\x20\x01"},
	} {
		m := makeMap(t, 1, "t", []byte{typeTiny, c.typ}, []byte(c.meta))
		var unknown *UnknownColumnError
		_, err := m.Split(nil, makeRows(t, WriteRowsV1, 1, 2, "\x02\x01"))
		if !errors.As(err, &unknown) || unknown.Column != 1 || unknown.Type != c.typ || unknown.Table != "d.t" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestTableMap(t *testing.T) {
	body := mapBody(7, "täble", []byte{typeTiny, typeVarchar}, []byte{10, 0})
	body[len(body)-1] = 2
	body = append(body, "optional"...)
	var maps Maps
	e := &Event{Type: TableMapEvent, Format: testFormat(t, false), Body: body}
	m, err := maps.Get(e)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != 7 || m.Name() != "d.täble" || string(m.Optional) != "optional" || m.Nullable[0] || !m.Nullable[1] {
		t.Errorf("parsed %+v", m)
	}
	if n := testing.AllocsPerRun(10, func() {
		if again, err := maps.Get(e); again != m || err != nil {
			t.Error("the same map is another one", err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a known map", n)
	}
	for i := range body[:len(body)-len("optional")] {
		if _, err := ParseTableMap(&Event{Type: TableMapEvent, Format: e.Format, Body: body[:i]}); err == nil {
			t.Errorf("first %d bytes: no error", i)
		}
	}
}

func TestSplit(t *testing.T) {
	m := makeMap(t, 1, "t", []byte{typeTiny, typeVarchar}, []byte{10, 0})
	for _, c := range []struct {
		name   string
		typ    EventType
		images string
		want   []int
		err    bool
	}{
		{"two", WriteRowsV1, "\x00\x01\x01a" + "\x00\x02\x00", []int{4, 7}, false},
		{"nulls", WriteRowsV2, "\x03" + "\x02\x05", []int{1, 3}, false},
		{"update", UpdateRowsV2, "\x00\x01\x01a" + "\x02\x02", []int{6}, false},
		{"none", DeleteRowsV1, "", nil, false},
		{"half an update", UpdateRowsV1, "\x00\x01\x01a", nil, true},
		{"too long", DeleteRowsV2, "\x00\x01\x09a", nil, true},
		{"only nulls", DeleteRowsV2, "\x00", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := m.Split(nil, makeRows(t, c.typ, 1, 2, c.images))
			if (err != nil) != c.err {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); !c.err && diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := m.Split(nil, makeRows(t, WriteRowsV1, 1, 3, "\x00")); err == nil {
		t.Error("another width: no error")
	}
	minimal := rowsBody(UpdateRowsV1, 1, 2, "")
	minimal[len(minimal)-1] = 0
	r, err := ParseRows(&Event{Type: UpdateRowsV1, Format: testFormat(t, false), Body: minimal})
	if err != nil || r.Full() || r.Has(0) {
		t.Errorf("with other columns after than before: %v, %t, %t", err, r.Full(), r.Has(0))
	}
	_, of := m.Split(nil, r)
	if _, changed := m.Changed(r, []int{0}); !errors.Is(of, ErrNotFull) || !errors.Is(changed, ErrNotFull) {
		t.Errorf("with other columns after than before: %v, %v", of, changed)
	}
}

func TestChanged(t *testing.T) {
	m := makeMap(t, 1, "t", []byte{typeTiny, typeVarchar, typeTiny}, []byte{10, 0})
	for _, c := range []struct {
		name    string
		typ     EventType
		images  string
		columns []int
		want    bool
	}{
		{"key kept", UpdateRowsV1, "\x00\x01\x01a\x01" + "\x00\x01\x02bb\x01", []int{0, 2}, false},
		{"key changed", UpdateRowsV1, "\x00\x01\x01a\x01" + "\x00\x01\x02bb\x01", []int{1}, true},
		{"behind it", UpdateRowsV1, "\x00\x01\x01a\x01" + "\x00\x01\x02bb\x02", []int{2}, true},
		{"to NULL", UpdateRowsV1, "\x00\x01\x01a\x01" + "\x02\x01\x01", []int{1}, true},
		{"NULL kept", UpdateRowsV2, "\x02\x01\x01" + "\x02\x02\x01", []int{1, 2}, false},
		{"second row", UpdateRowsV2, "\x02\x01\x01" + "\x02\x02\x01" + "\x02\x01\x01" + "\x02\x01\x02", []int{2}, true},
		{"delete", DeleteRowsV1, "\x02\x01\x01", []int{0}, true},
		{"write", WriteRowsV1, "\x02\x01\x01", []int{0}, false},
	} {
		got, err := m.Changed(makeRows(t, c.typ, 1, 3, c.images), c.columns)
		if got != c.want || err != nil {
			t.Errorf("%s: %t, %v", c.name, got, err)
		}
	}
	if _, err := m.Changed(makeRows(t, UpdateRowsV1, 1, 3, ""), []int{3}); err == nil {
		t.Error("no such column: no error")
	}
}

// TestLacking has images without the second of four columns.
func TestLacking(t *testing.T) {
	m := makeMap(t, 1, "t", []byte{typeTiny, typeLong, typeVarchar, typeTiny}, []byte{10, 0})
	body := lack(rowsBody(UpdateRowsV2, 1, 4, "\x00\x01\x01a\x01"+"\x00\x01\x02bb\x01"+"\x02\x01\x07"+"\x00\x01\x01c\x07"), UpdateRowsV2, 4, 1)
	r, err := ParseRows(&Event{Type: UpdateRowsV2, Format: testFormat(t, false), Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if r.Full() || !r.Has(0) || r.Has(1) || !r.Has(3) || r.Has(4) {
		t.Errorf("it has %t %t %t %t", r.Has(0), r.Has(1), r.Has(3), r.Has(4))
	}
	if ends, err := m.Split(nil, r); err != nil || !slices.Equal(ends, []int{11, 19}) {
		t.Errorf("rows end at %v: %v", ends, err)
	}
	for column, want := range []bool{false, true, true, false} {
		if got, err := m.Changed(r, []int{column}); got != want || err != nil {
			t.Errorf("column %d changed: %t, %v", column, got, err)
		}
	}
	if full := makeRows(t, UpdateRowsV2, 1, 4, ""); !full.Full() || !full.Has(3) {
		t.Error("it has not all columns")
	}
	// Rows with different columns cannot stand in one event.
	one := lack(rowsBody(DeleteRowsV2, 1, 4, "\x00\x05\x01a\x01"), DeleteRowsV2, 4, 1)
	lacking, err := ParseRows(&Event{Type: DeleteRowsV2, Format: testFormat(t, false), Body: one})
	if err != nil {
		t.Fatal(err)
	}
	inv, err := Invert([]Change{{m, lacking}, {m, makeRows(t, DeleteRowsV2, 1, 4, "\x00\x06\x02\x00\x00\x00\x01b\x02")}}, InvertOptions{Flavour: MariaDB})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(parseStatement(t, testFormat(t, false), inv.Statements[0])); n != 3 {
		t.Errorf("%d events, not a map and two of rows", n)
	}
}
