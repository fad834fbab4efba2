package binlog

import (
	"errors"
	"slices"
	"testing"
)

// FuzzEvent feeds every parser with what says to be an event. The first byte chooses
// whether there are checksums.
func FuzzEvent(f *testing.F) {
	f.Add(append([]byte{0}, formatBytes("9.7.4", 0, true)...))
	for typ, body := range map[EventType]string{
		QueryEvent: "\x09\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x0e\x00" + "\x0c\x02\x61\x00\x62\x62\x00\x83\x01\x01\x02\x03\x04\x02d\x00x",
		XIDEvent:   "12345678", RotateEvent: rotate(second), StopEvent: "", GTIDEvent: "\x010123456789abcdef\x07\x00\x00\x00\x00\x00\x00\x00\x02",
		MariaGTIDEvent: "\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x4212345678\x01\x00\x00\x00\x02\x01abc",
		XAPrepareEvent: "\x01\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00abc", RowsQueryEvent: "\x01x",
		TableMapEvent: string(mapBody(1, "t", []byte{typeTiny, typeVarchar}, []byte{10, 0})),
		WriteRowsV2:   string(rowsBody(WriteRowsV2, 1, 2, "\x00\x01\x01a")),
		UpdateRowsV1:  string(rowsBody(UpdateRowsV1, 1, 2, "\x00\x01\x01a\x00\x01\x01b")),
	} {
		f.Add(append([]byte{1}, event(typ, 0, []byte(body), 0, false)...))
		f.Add(append([]byte{0}, event(typ, 0, []byte(body), 0, true)...))
	}
	formats := []*Format{testFormat(f, true), testFormat(f, false)}
	var maps Maps
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		e, err := ParseEvent(b[1:], formats[b[0]&1])
		if err != nil {
			onlyKnown(t, err)
			return
		}
		if e.Length < headerLen || len(e.Body) > len(b) {
			t.Fatalf("length %d, body of %d", e.Length, len(e.Body))
		}
		_ = e.Type.String() + e.Pos().String()
		for _, parse := range []func() error{
			func() error { _, err := ParseQuery(&e); return err },
			func() error { x, err := ParseXAPrepare(&e); _ = x.XID.String(); return err },
			func() error { _, err := ParseRotate(&e); return err },
			func() error { _, err := ParseRows(&e); return err },
			func() error { _, err := maps.Get(&e); return err },
		} {
			if err := parse(); err != nil {
				onlyKnown(t, err)
			}
		}
	})
}

// FuzzRows inverts whatever rows some table map lets pass, twice, and expects the same
// rows again.
func FuzzRows(f *testing.F) {
	f.Add(byte(0), []byte{typeTiny, typeVarchar}, []byte{10, 0}, []byte("\x00\x01\x01a\x02\x05"), byte(255))
	f.Add(byte(1), []byte{typeTiny, typeVarchar}, []byte{10, 0}, []byte("\x00\x01\x01a\x02\x05"), byte(255))
	f.Add(byte(2), []byte{typeBlob, typeDecimal, typeString, typeBit}, []byte{2, 14, 4, 0xfe, 200, 1, 1}, []byte("\x00\x01\x00x1234567\x02ab00"), byte(255))
	f.Add(byte(4), []byte{typeString, typeDatetime2, typeTime2}, []byte{0xf7, 1, 6, 3}, []byte("\x00a1234567812345\x07"), byte(255))
	f.Add(byte(1), []byte{typeTiny, typeTiny, typeVarchar}, []byte{10, 0}, []byte("\x00\x01\x01a\x02\x05"), byte(1))
	format := testFormat(f, false)
	// lacking is a column that the images do not have, if there is one of that number.
	f.Fuzz(func(t *testing.T, kind byte, types, meta, images []byte, lacking byte) {
		if len(types) > 100 || len(meta) > 200 {
			return
		}
		m, err := ParseTableMap(&Event{Type: TableMapEvent, Format: format, Body: mapBody(1, "t", types, meta)})
		if err != nil {
			onlyKnown(t, err)
			return
		}
		typ := []EventType{WriteRowsV1, UpdateRowsV1, DeleteRowsV1, WriteRowsV2, UpdateRowsV2, DeleteRowsV2}[kind%6]
		body := rowsBody(typ, 1, len(types), string(images))
		if int(lacking) < len(types) {
			body = lack(body, typ, len(types), int(lacking))
		}
		r, err := ParseRows(&Event{Type: typ, Format: format, Body: body})
		if err != nil {
			onlyKnown(t, err)
			return
		}
		ends, err := m.Split(nil, r)
		if _, err := m.Changed(r, []int{0}); err != nil {
			onlyKnown(t, err)
		}
		if err != nil {
			onlyKnown(t, err)
			return
		}
		if len(ends) == 0 {
			return
		}
		back := invertOne(t, format, m, r)
		again := invertOne(t, format, m, back)
		if again.Kind != r.Kind || string(again.images) != string(r.images) || string(again.present) != string(r.present) {
			t.Errorf("twice inverted, %s %x of %x is %s %x of %x", r.Kind, r.images, r.present, again.Kind, again.images, again.present)
		}
		byKey(t, format, m, r, ends)
	})
}

// byKey inverts a rows event by its last column, and compares every value that is kept with that in
// the log; an update lacks only what it did not change.
func byKey(t *testing.T, f *Format, m *TableMap, r Rows, ends []int) {
	t.Helper()
	last := len(m.columns) - 1
	inv, err := Invert([]Change{{m, r}}, InvertOptions{Flavour: MariaDB, EventBytes: 1 << 30, Key: func(*TableMap) []int { return []int{last} }})
	if err != nil {
		t.Fatal(err)
	}
	// The values of each row, before and after, by column.
	type images [2]map[int]string
	var rows []images
	from := 0
	present := make([]byte, (len(m.columns)+7)/8)
	for i := range m.columns {
		if r.Has(i) {
			present[i>>3] |= 1 << (i & 7)
		}
	}
	for _, end := range ends {
		var row images
		b := r.images[from:end]
		for image := range r.Kind.images() {
			side := image
			if r.Kind == Write {
				side = 1
			}
			row[side], b = valuesOf(m, b, present)
		}
		rows, from = append(rows, row), end
	}
	slices.Reverse(rows)
	differ := func(column int) bool {
		return slices.ContainsFunc(rows, func(row images) bool { return row[0][column] != row[1][column] })
	}
	if len(inv.Statements) == 0 {
		for i := range m.columns {
			if r.Kind != Update || differ(i) {
				t.Errorf("%s %x is left out", r.Kind, r.images)
			}
		}
		return
	}
	e := parseStatement(t, f, inv.Statements[0])[1]
	back, err := ParseRows(&e)
	if err != nil {
		t.Fatal(err)
	}
	bitmaps := e.Body[len(e.Body)-len(back.images)-back.Kind.images()*len(present):]
	b := back.images
	for _, row := range rows {
		for image := range back.Kind.images() {
			bitmap := bitmaps[image*len(present):][:len(present)]
			side := 1 - image // an inverted event begins with what is there
			if back.Kind == Write {
				side = 0
			}
			var got map[int]string
			got, b = valuesOf(m, b, bitmap)
			for i, v := range got {
				if v != row[side][i] {
					t.Errorf("column %d is %q in an inverted %s, and was %q", i, v, r.Kind, row[side][i])
				}
			}
			for i := range m.columns {
				if _, kept := got[i]; !kept && r.Has(i) && (side == 0 && differ(i) || side == 1 && i == last) {
					t.Errorf("column %d is not in an inverted %s", i, r.Kind)
				}
			}
		}
	}
	if len(b) > 0 {
		t.Errorf("%d bytes too many", len(b))
	}
}

// valuesOf reads the image that b begins with, which has the columns of a bitmap, and returns what
// follows. NULL is "NULL", any other value begins with '='.
func valuesOf(m *TableMap, b, bitmap []byte) (map[int]string, []byte) {
	values, n := map[int]string{}, 0
	for i := range m.columns {
		if bit(bitmap, i) {
			n++
		}
	}
	nulls, rest := b[:(n+7)/8], b[(n+7)/8:]
	n = 0
	for i, c := range m.columns {
		if !bit(bitmap, i) {
			continue
		}
		values[i] = "NULL"
		if !bit(nulls, n) {
			length := c.length(rest)
			values[i], rest = "="+string(rest[:length]), rest[length:]
		}
		n++
	}
	return values, rest
}

func invertOne(t *testing.T, f *Format, m *TableMap, r Rows) Rows {
	t.Helper()
	inv, err := Invert([]Change{{m, r}}, InvertOptions{Flavour: MariaDB, EventBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	events := parseStatement(t, f, inv.Statements[0])
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	back, err := ParseRows(&events[1])
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// onlyKnown fails for an error that callers are not told of.
func onlyKnown(t *testing.T, err error) {
	t.Helper()
	var c *CorruptError
	var u *UnknownColumnError
	if !errors.As(err, &c) && !errors.As(err, &u) && !errors.Is(err, ErrNotFull) {
		t.Errorf("error of type %T: %v", err, err)
	}
}
