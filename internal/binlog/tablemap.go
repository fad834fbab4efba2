package binlog

import "bytes"

// mostColumns is what a table can have (MAX_FIELDS).
const mostColumns = 4096

// TableMap says what the columns of a table are, for the rows events that follow it.
type TableMap struct {
	// ID is the number by which rows events name the table.
	ID     uint64
	Schema string
	Table  string
	// Types are the columns', as the server numbers them (enum_field_types), and
	// Nullable says which may be NULL.
	Types    []byte
	Nullable []bool
	// Optional is what follows: names, keys, character sets, as far as the server is
	// set to write them (binlog_row_metadata). It is not parsed.
	Optional []byte

	columns []column
	flags   uint16
	// body is the event after the table's number and flags; shape the part of it that
	// tells how rows look.
	body, shape []byte
}

// Name returns schema and table with a dot between, for messages.
func (m *TableMap) Name() string { return m.Schema + "." + m.Table }

// SameShape reports whether rows of m and o look alike: same table, same columns.
func (m *TableMap) SameShape(o *TableMap) bool {
	return m == o || bytes.Equal(m.shape, o.shape)
}

// ParseTableMap parses a TABLE_MAP event. The bytes are copied.
func ParseTableMap(e *Event) (*TableMap, error) {
	r := reader{b: bytes.Clone(e.Body), what: "TABLE_MAP event"}
	m := &TableMap{}
	m.ID, m.flags = tableID(&r, e), uint16(r.uint(2))
	m.body = r.b
	m.Schema = name(&r)
	m.Table = name(&r)
	n := r.packed()
	if n > mostColumns {
		r.fail("%d columns", n)
		n = 0
	}
	m.Types = r.take(int(n))
	metadata := r.packed()
	if metadata > uint64(len(r.b)) {
		r.fail("%d bytes of metadata in %d", metadata, len(r.b))
		metadata = 0
	}
	meta := reader{b: r.take(int(metadata)), what: r.what}
	nulls := r.take((int(n) + 7) / 8)
	if r.err != nil {
		return nil, located(r.err, e.Pos())
	}
	m.Optional = r.b
	m.shape = m.body[:len(m.body)-len(r.b)]
	m.columns = make([]column, n)
	m.Nullable = make([]bool, n)
	for i, t := range m.Types {
		m.columns[i] = newColumn(t, &meta)
		m.Nullable[i] = bit(nulls, i)
	}
	if meta.err == nil && len(meta.b) > 0 && !m.unknown() {
		meta.fail("%d bytes of metadata too many", len(meta.b))
	}
	// Behind a column of an unknown type, metadata cannot be told apart; splitting rows
	// of such a table is an error anyway.
	if meta.err != nil && !m.unknown() {
		return nil, located(meta.err, e.Pos())
	}
	return m, nil
}

// name reads a name behind its length and before a zero byte.
func name(r *reader) string {
	s := string(r.short())
	if end := r.take(1); r.err == nil && end[0] != 0 {
		r.fail("no end of a name")
	}
	return s
}

// tableID reads the number of a table: six bytes, four in ancient formats.
func tableID(r *reader, e *Event) uint64 {
	if e.Format.postHeader(e.Type, 8) == 6 {
		return r.uint(4)
	}
	return r.uint(6)
}

func (m *TableMap) unknown() bool {
	for i := range m.columns {
		if m.columns[i].size == sizeUnknown {
			return true
		}
	}
	return false
}

func bit(b []byte, i int) bool { return b[i>>3]&(1<<(i&7)) != 0 }

// mostMaps bounds what Maps remembers; servers give a table a new number whenever they
// open it again.
const mostMaps = 4096

// Maps remembers table maps, so that the same one, which stands before every statement's
// rows, is parsed once and is one value. The zero value is ready. It is not safe for
// several goroutines.
type Maps struct {
	byID map[uint64]remembered
}

type remembered struct {
	m    *TableMap
	body []byte
}

// Get returns the parsed map of a TABLE_MAP event. It does not refer to the event's bytes.
func (c *Maps) Get(e *Event) (*TableMap, error) {
	r := reader{b: e.Body}
	id := tableID(&r, e)
	if old, ok := c.byID[id]; ok && bytes.Equal(old.body, e.Body) {
		return old.m, nil
	}
	m, err := ParseTableMap(e)
	if err != nil {
		return nil, err
	}
	if c.byID == nil || len(c.byID) >= mostMaps {
		c.byID = map[uint64]remembered{}
	}
	c.byID[id] = remembered{m, bytes.Clone(e.Body)}
	return m, nil
}
