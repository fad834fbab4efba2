package binlog

import (
	"bytes"
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
	// images are the rows: of an update, before and after image of each.
	images []byte
}

// ParseRows parses a rows event of version 1 or 2. It returns an error that wraps
// ErrNotFull for one without all columns, and *CorruptError for others.
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
	bitmaps := 1
	if rows.Kind == Update {
		bitmaps = 2
	}
	full := true
	for range bitmaps {
		full = full && allSet(r.take((rows.width+7)/8), rows.width)
	}
	rows.images = r.b
	if r.err != nil {
		return Rows{}, located(r.err, e.Pos())
	}
	if !full {
		return Rows{}, &rowsError{e.Pos(), ErrNotFull}
	}
	return rows, nil
}

type rowsError struct {
	pos Position
	err error
}

func (e *rowsError) Error() string {
	return "parse rows event at " + e.pos.String() + ": " + e.err.Error()
}
func (e *rowsError) Unwrap() error { return e.err }

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
	r.images = bytes.Clone(r.images)
	return r
}

// Size returns how many bytes the row images have.
func (r Rows) Size() int { return len(r.images) }

// image returns how many bytes the row image has that b begins with.
func (m *TableMap) image(b []byte) (int, error) {
	nulls := (len(m.columns) + 7) / 8
	if nulls > len(b) {
		return 0, corrupt("rows of "+m.Name(), "%d bytes for %d columns", len(b), len(m.columns))
	}
	at := nulls
	for i, c := range m.columns {
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

// Split appends to ends where each row of r ends, in bytes from the first, and returns
// it. A row of an update is two images. It returns *CorruptError or *UnknownColumnError.
func (m *TableMap) Split(ends []int, r Rows) ([]int, error) {
	if err := m.splittable(r); err != nil {
		return ends, err
	}
	for at := 0; at < len(r.images); {
		images := 1
		if r.Kind == Update {
			images = 2
		}
		for range images {
			n, err := m.image(r.images[at:])
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

// Changed reports whether r changed, or deleted, a value in one of the given columns,
// which count from 0. It compares bytes, so 'a' and 'A' differ in any collation.
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
	for b := r.images; len(b) > 0; {
		before, err := m.image(b)
		if err != nil {
			return false, err
		}
		after, err := m.image(b[before:])
		if err != nil {
			return false, err
		}
		if m.differ(b[:before], b[before:before+after], columns) {
			return true, nil
		}
		b = b[before+after:]
	}
	return false, nil
}

// differ compares two images whose lengths were checked.
func (m *TableMap) differ(x, y []byte, columns []int) bool {
	nulls := (len(m.columns) + 7) / 8
	if bytes.Equal(x, y) {
		return false
	}
	xv, yv := x[nulls:], y[nulls:]
	for i, c := range m.columns {
		xn, yn := 0, 0
		if !bit(x, i) {
			xn = c.length(xv)
		}
		if !bit(y, i) {
			yn = c.length(yv)
		}
		if (bit(x, i) != bit(y, i) || !bytes.Equal(xv[:xn], yv[:yn])) && slices.Contains(columns, i) {
			return true
		}
		xv, yv = xv[xn:], yv[yn:]
	}
	return false
}
