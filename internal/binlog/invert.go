package binlog

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/maphash"
)

// DefaultEventBytes is the size up to which rows are gathered in one event.
const DefaultEventBytes = 1 << 20

// Change is a rows event together with the map of its table.
type Change struct {
	Map  *TableMap
	Rows Rows
}

// InvertOptions say how the result is to be written.
type InvertOptions struct {
	// Flavour is that of the server that will apply the result.
	Flavour Flavour
	// ServerID is written into the events.
	ServerID uint32
	// MaxBytes bounds the text of a statement, so that it can be kept below
	// max_allowed_packet; 0 is no bound. A single row that is larger is an error.
	MaxBytes int
	// EventBytes is the size, in bytes, up to which rows of one table are gathered in an
	// event; 0 means DefaultEventBytes, 1 one row to an event.
	EventBytes int
	// Key, if not nil, returns the columns of a table's primary key, by number from 0, nil for
	// unknown. By these alone rows are looked for then, and of an updated row only those
	// columns are put back that the update changed: less to send and to parse.
	Key func(*TableMap) []int
}

// Inversion is what undoes a list of changes.
type Inversion struct {
	// Statements are the texts to put between the quotes of BINLOG '...', in this order.
	// Each is complete in itself; if there are several, only a transaction around them
	// makes them one. None means that there is nothing to undo.
	Statements [][]byte
	// Tables are the tables with what will happen to each, in the order of their last
	// change, the latest first.
	Tables []TableCount
}

// TableCount says how many rows applying an inversion deletes, inserts and updates.
type TableCount struct {
	Schema, Table              string
	Deleted, Inserted, Updated int
}

// Invert returns the row events that undo changes, which are in the order of the log.
// Writes become deletes and the reverse, updates get their images swapped, and all that
// happens to one table happens in the reverse order. What happens to different tables is
// not in any order, so that their rows can be gathered in few events: the events say that
// foreign keys are not to be checked (and so not followed), and triggers do not fire.
//
// Columns that the images lack are missing in the inverted ones too: the caller knows that the
// server computes it.
//
// Two changes of one table whose maps differ are an error, *CorruptError; so is every row
// that cannot be split. *TooLargeError says that a row does not fit MaxBytes.
func Invert(changes []Change, o InvertOptions) (*Inversion, error) {
	if o.EventBytes == 0 {
		o.EventBytes = DefaultEventBytes
	}
	tables, err := byTable(changes)
	if err != nil {
		return nil, fmt.Errorf("invert changes: %w", err)
	}
	w := &inverter{o: o, out: &Inversion{Tables: make([]TableCount, 0, len(tables))}, seed: maphash.MakeSeed()}
	for i := range tables {
		if err := w.table(uint64(i+1), &tables[i], changes); err != nil {
			return nil, fmt.Errorf("invert changes: %w", err)
		}
	}
	w.endStatement()
	return w.out, nil
}

// touched is a table with its changes, the latest first.
type touched struct {
	m       *TableMap
	changes []int
}

func byTable(changes []Change) ([]touched, error) {
	type key struct{ schema, table string }
	var tables []touched
	byName := map[key]int{}
	var last *TableMap
	at := 0
	for i := len(changes) - 1; i >= 0; i-- {
		m := changes[i].Map
		if m != last {
			k := key{m.Schema, m.Table}
			var known bool
			if at, known = byName[k]; !known {
				at = len(tables)
				byName[k] = at
				tables = append(tables, touched{m: m})
			}
			if !m.SameShape(tables[at].m) {
				return nil, corrupt("table maps of "+m.Name(), "its columns changed in between")
			}
			last = m
		}
		tables[at].changes = append(tables[at].changes, i)
	}
	return tables, nil
}

// inverter writes events into the statement that is being made.
type inverter struct {
	o    InvertOptions
	out  *Inversion
	seed maphash.Seed

	// maps and body are the statement's events: all table maps stand before the rest.
	maps, body []byte
	raw        []byte // both, to be encoded; reused
	// mapped is the table whose map was written last, 0 for none in this statement.
	mapped uint64
	// flagsAt is where the last rows event has its flags.
	flagsAt int

	// The rows event that is being written begins at start of body; open says that
	// there is one.
	open  bool
	start int
	kind  RowKind
	v2    bool
	// before and after are the columns of its images, as bitmaps.
	before, after []byte
	// made has the images that its updates made, hashed.
	made map[uint64]struct{}

	cut  cut
	ends []int
	one  []byte // the row that is being written; reused
}

// table writes what undoes the changes of one table.
func (w *inverter) table(id uint64, t *touched, changes []Change) error {
	count := TableCount{Schema: t.m.Schema, Table: t.m.Table}
	var key []int
	if w.o.Key != nil {
		key = w.o.Key(t.m)
	}
	for _, i := range t.changes {
		r := changes[i].Rows
		var err error
		if w.ends, err = t.m.Split(w.ends[:0], r); err != nil {
			return err
		}
		rows := len(w.ends)
		kind := Update
		switch r.Kind {
		case Write:
			kind = Delete
			count.Deleted += rows
		case Delete:
			kind = Write
			count.Inserted += rows
		default:
			count.Updated += rows
		}
		if err := w.cut.begin(t.m, r, key); err != nil {
			return err
		}
		if kind == Update && w.cut.nothing() {
			continue
		}
		for n := rows - 1; n >= 0; n-- {
			from := 0
			if n > 0 {
				from = w.ends[n-1]
			}
			if err := w.row(id, t.m, kind, r, r.images[from:w.ends[n]]); err != nil {
				return err
			}
		}
	}
	w.endEvent()
	w.out.Tables = append(w.out.Tables, count)
	return nil
}

// row writes what undoes one row of r, and before it what that needs.
func (w *inverter) row(id uint64, m *TableMap, kind RowKind, r Rows, b []byte) error {
	was, is := b, b // the images of the row as it was before the change, and as it is
	if kind == Update {
		n, err := m.image(b, w.cut.columns)
		if err != nil {
			return err
		}
		was, is = b[:n], b[n:]
	}
	w.one = w.one[:0]
	if kind != Write {
		w.one = w.cut.appendFound(w.one, is)
	}
	if kind != Delete {
		w.one = w.cut.appendMade(w.one, was)
	}
	if w.open && (w.kind != kind || w.v2 != r.v2 || !bytes.Equal(w.before, w.cut.before) || !bytes.Equal(w.after, w.cut.after) ||
		len(w.body)-w.start+len(w.one) > w.o.EventBytes || w.chained(is)) {
		w.endEvent()
	}
	more := len(w.one)
	if !w.open {
		more += rowsHeaderLen(r)
	}
	if w.mapped != id {
		more += m.eventLen()
	}
	if w.tooMuch(len(w.maps) + len(w.body) + more) {
		w.endEvent()
		w.endStatement()
		if more = m.eventLen() + rowsHeaderLen(r) + len(w.one); w.tooMuch(more) {
			return &TooLargeError{m.Name(), base64.StdEncoding.EncodedLen(more), w.o.MaxBytes}
		}
	}
	if w.mapped != id {
		w.maps = m.appendEvent(w.maps, id, w.o.ServerID, r.Timestamp)
		w.mapped = id
	}
	if !w.open {
		w.beginEvent(id, kind, r)
	}
	if kind == Update && w.o.Flavour == MySQL && !w.cut.keyed {
		if w.made == nil {
			w.made = map[uint64]struct{}{}
		}
		w.made[maphash.Bytes(w.seed, was)] = struct{}{}
	}
	w.body = append(w.body, w.one...)
	return nil
}

// chained reports whether the current event makes the row that has the given image. Then
// that row must be looked for in another event: for tables without a primary key MySQL
// reads the table once per event, and finds each row as it was before
// (slave_rows_search_algorithms, HASH_SCAN).
func (w *inverter) chained(image []byte) bool {
	if w.kind != Update || len(w.made) == 0 {
		return false
	}
	_, ok := w.made[maphash.Bytes(w.seed, image)]
	return ok
}

func (w *inverter) tooMuch(n int) bool {
	return w.o.MaxBytes > 0 && base64.StdEncoding.EncodedLen(n) > w.o.MaxBytes
}

func (w *inverter) beginEvent(id uint64, kind RowKind, r Rows) {
	w.open, w.start, w.kind, w.v2 = true, len(w.body), kind, r.v2
	w.before, w.after = append(w.before[:0], w.cut.before...), append(w.after[:0], w.cut.after...)
	clear(w.made)
	w.body = appendHeader(w.body, rowsType(kind, r.v2), r.Timestamp, w.o.ServerID)
	w.body = appendTableID(w.body, id)
	w.flagsAt = len(w.body)
	flags := uint16(rowsNoForeignKeys)
	if w.o.Flavour == MariaDB {
		flags |= rowsNoCheckConstraint
	}
	w.body = le.AppendUint16(w.body, flags)
	if r.v2 {
		w.body = le.AppendUint16(w.body, 2) // no extra data: partitions are found again
	}
	w.body = appendPacked(w.body, uint64(r.width))
	if kind != Write {
		w.body = append(w.body, w.before...)
	}
	if kind != Delete {
		w.body = append(w.body, w.after...)
	}
}

func (w *inverter) endEvent() {
	if w.open {
		le.PutUint32(w.body[w.start+9:], uint32(len(w.body)-w.start))
		w.open = false
	}
}

func (w *inverter) endStatement() {
	if len(w.body) == 0 {
		return
	}
	w.body[w.flagsAt] |= rowsStatementEnd
	w.raw = append(append(w.raw[:0], w.maps...), w.body...)
	text := make([]byte, base64.StdEncoding.EncodedLen(len(w.raw)))
	base64.StdEncoding.Encode(text, w.raw)
	w.out.Statements = append(w.out.Statements, text)
	w.maps, w.body, w.mapped = w.maps[:0], w.body[:0], 0
}
