package binlog

import (
	"bytes"
	"fmt"
	"slices"
)

// Flags of rows events, Rows_event::enum_flag; the last is MariaDB's.
const (
	rowsStatementEnd      = 0x01
	rowsNoForeignKeys     = 0x02
	rowsNoCheckConstraint = 0x80
)

// Rows is a rows event. It refers to the event's bytes; Clone it to keep it.
type Rows struct {
	Kind RowKind
	// TableID is the number of the table, as its TableMap has it.
	TableID uint64
	// StatementEnd is set on the last rows event of a statement; after it table maps are
	// void.
	StatementEnd bool
	// Timestamp is the event's, in seconds of the epoch.
	Timestamp uint32

	v2    bool
	width int
	// present has a bit for each column, 1 for those that the images have; nil is all.
	present []byte
	// uneven says that an update's images have other columns before than after.
	uneven bool
	// images are the rows: of an update, before and after image of each.
	images []byte
}

// ParseRows parses a rows event of version 1 or 2. It returns *CorruptError.
func ParseRows(e *Event) (Rows, error) {
	rows := Rows{Kind: e.Type.Rows(), Timestamp: e.Timestamp, v2: e.Type >= WriteRowsV2}
	r := reader{b: e.Body, what: "rows event"}
	if rows.Kind == NotRows {
		r.fail("it is a %s event", e.Type)
	}
	rows.TableID = tableID(&r, e)
	rows.StatementEnd = r.uint(2)&rowsStatementEnd != 0
	if rows.v2 { // extra data, for NDB and partitions, behind a length that counts itself
		r.take(int(r.uint(2)) - 2)
	}
	width := r.packed()
	if width > mostColumns {
		r.fail("%d columns", width)
		width = 0
	}
	rows.width = int(width)
	before := r.take((rows.width + 7) / 8)
	after := before
	if rows.Kind == Update {
		after = r.take(len(before))
	}
	rows.images = r.b
	if r.err != nil {
		return Rows{}, located(r.err, e.Pos())
	}
	if !allSet(before, rows.width) || !allSet(after, rows.width) {
		rows.present, rows.uneven = before, !bytes.Equal(before, after)
	}
	return rows, nil
}

// allSet reports whether the first n bits are 1.
func allSet(b []byte, n int) bool {
	if len(b) < (n+7)/8 {
		return false
	}
	for i := range n >> 3 {
		if b[i] != 0xff {
			return false
		}
	}
	odd := byte(1)<<(n&7) - 1
	return odd == 0 || b[n>>3]&odd == odd
}

// Clone returns a copy with bytes of its own.
func (r Rows) Clone() Rows {
	r.images, r.present = bytes.Clone(r.images), bytes.Clone(r.present)
	return r
}

// Full reports whether the images have all columns. MariaDB 11.8.9 leaves out those that are
// computed where a row is changed or deleted (11.8.6 did not).
func (r Rows) Full() bool { return r.present == nil }

// Has reports whether the images have a column, which count from 0. Of an update whose images have
// not the same columns it says that of none.
func (r Rows) Has(column int) bool {
	return r.present == nil || !r.uneven && column < r.width && bit(r.present, column)
}

// Size returns how many bytes the row images have.
func (r Rows) Size() int { return len(r.images) }

// imaged are the columns that the images of r have.
func (m *TableMap) imaged(r Rows) []column {
	if r.Full() {
		return m.columns
	}
	var list []column
	for i, c := range m.columns {
		if r.Has(i) {
			list = append(list, c)
		}
	}
	return list
}

// image returns how many bytes the row image has that b begins with, which has the given columns.
func (m *TableMap) image(b []byte, columns []column) (int, error) {
	nulls := (len(columns) + 7) / 8
	if nulls > len(b) {
		return 0, corrupt("rows of "+m.Name(), "%d bytes for %d columns", len(b), len(columns))
	}
	at := nulls
	for i, c := range columns {
		if b[i>>3]&(1<<(i&7)) != 0 {
			continue
		}
		if c.size == sizeUnknown {
			return 0, &UnknownColumnError{m.Name(), i, c.typ}
		}
		n := c.length(b[at:])
		if n < 0 {
			return 0, corrupt("rows of "+m.Name(), "column %d ends behind the event", i)
		}
		at += n
	}
	if at == 0 {
		return 0, corrupt("rows of "+m.Name(), "a row without bytes")
	}
	return at, nil
}

// splittable returns an error if rows of r cannot be told apart by m. A column of unknown
// size is one even where its values are NULL, since that is seen only when it is too late.
func (m *TableMap) splittable(r Rows) error {
	if r.uneven {
		return fmt.Errorf("rows of %s: %w", m.Name(), ErrNotFull)
	}
	if r.width != len(m.columns) {
		return corrupt("rows of "+m.Name(), "%d columns, not %d", r.width, len(m.columns))
	}
	for i, c := range m.columns {
		if c.size == sizeUnknown {
			return &UnknownColumnError{m.Name(), i, c.typ}
		}
	}
	return nil
}

// Split appends to ends where each row of r ends, in bytes from the first, and returns it. A row of
// an update is two images. It returns *CorruptError, *UnknownColumnError, or an error that wraps
// ErrNotFull for an update whose images have not the same columns.
func (m *TableMap) Split(ends []int, r Rows) ([]int, error) {
	if err := m.splittable(r); err != nil {
		return ends, err
	}
	columns := m.imaged(r)
	for at := 0; at < len(r.images); {
		for range r.Kind.images() {
			n, err := m.image(r.images[at:], columns)
			if err != nil {
				return ends, err
			}
			at += n
		}
		ends = append(ends, at)
	}
	return ends, nil
}

// Count returns the number of rows in r.
func (m *TableMap) Count(r Rows) (int, error) {
	ends, err := m.Split(nil, r)
	return len(ends), err
}

// About returns about how many rows r has, by the length of the first.
func (m *TableMap) About(r Rows) int64 {
	if m.splittable(r) != nil || len(r.images) == 0 {
		return 1
	}
	columns, first := m.imaged(r), 0
	for range r.Kind.images() {
		n, err := m.image(r.images[first:], columns)
		if err != nil {
			return 1
		}
		first += n
	}
	return int64((len(r.images) + first/2) / first)
}

// Changed reports whether r changed, or deleted, a value in one of the given columns,
// which count from 0. It compares bytes, so 'a' and 'A' differ in any collation, and a column that
// the images lack counts as changed.
func (m *TableMap) Changed(r Rows, columns []int) (bool, error) {
	if err := m.splittable(r); err != nil {
		return false, err
	}
	for _, c := range columns {
		if c < 0 || c >= len(m.columns) {
			return false, corrupt("rows of "+m.Name(), "no column %d", c)
		}
	}
	if r.Kind != Update {
		return r.Kind == Delete && len(r.images) > 0, nil
	}
	has, at := m.imaged(r), []int(nil) // the columns' places in the images
	for _, c := range columns {
		if !r.Has(c) {
			return len(r.images) > 0, nil
		}
		at = append(at, r.place(c))
	}
	changed, found := make([]bool, len(has)), false
	err := m.updates(r, has, func(was, is []byte) bool {
		markDiffering(changed, was, is, has)
		found = slices.ContainsFunc(at, func(place int) bool { return changed[place] })
		return !found
	})
	return found, err
}

// updates calls do with both images of each row of an update, until it returns false.
func (m *TableMap) updates(r Rows, columns []column, do func(was, is []byte) bool) error {
	for b := r.images; len(b) > 0; {
		before, err := m.image(b, columns)
		if err != nil {
			return err
		}
		after, err := m.image(b[before:], columns)
		if err != nil {
			return err
		}
		if !do(b[:before], b[before:before+after]) {
			return nil
		}
		b = b[before+after:]
	}
	return nil
}

// place is the number of a column that the images have among those.
func (r Rows) place(column int) int {
	n := 0
	for i := range column {
		if r.Has(i) {
			n++
		}
	}
	return n
}

// markDiffering marks the columns that differ in two images, whose lengths were checked.
func markDiffering(differ []bool, x, y []byte, columns []column) {
	if bytes.Equal(x, y) {
		return
	}
	nulls := (len(columns) + 7) / 8
	xv, yv := x[nulls:], y[nulls:]
	for i, c := range columns {
		xn, yn := 0, 0
		if !bit(x, i) {
			xn = c.length(xv)
		}
		if !bit(y, i) {
			yn = c.length(yv)
		}
		if bit(x, i) != bit(y, i) || !bytes.Equal(xv[:xn], yv[:yn]) {
			differ[i] = true
		}
		xv, yv = xv[xn:], yv[yn:]
	}
}
