package binlog

import (
	"bytes"
	"slices"
)

// Touched is what a group does to tables, as far as an applier that has to find their rows is concerned.
type Touched struct {
	// Tables are those whose rows it changes.
	Tables []TouchedTable
	// Texts are the statements in it that are there as text, but for those that begin and end transactions. Unread says
	// that there are others, or rows, which this package cannot read.
	Texts  [][]byte
	Unread bool
	// Prepared says that it is an XA transaction, which a later group ends.
	Prepared bool
}

// TouchedTable says how many bytes of events add rows to a table, and how many update or delete some.
type TouchedTable struct {
	Schema, Table  string
	Added, Changed int64
}

// MayName reports whether a statement, in lower case, may name a table. A name that may be written in several ways is in
// any statement.
func MayName(text []byte, name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || c == '`' || c == '"' {
			return true
		}
	}
	word := bytes.ToLower([]byte(name))
	version := bytes.Contains(text, []byte("/*!")) || bytes.Contains(text, []byte("/*m!")) // a number, and then a statement
	for from := 0; ; {
		at := bytes.Index(text[from:], word)
		if at < 0 || len(word) == 0 {
			return len(word) == 0
		}
		at += from
		end := at + len(word)
		if version || (at == 0 || !WordByte(text[at-1])) && (end == len(text) || !WordByte(text[end])) {
			return true
		}
		from = at + 1
	}
}

// WordByte reports whether a name that is not quoted goes on with a byte, in lower case.
func WordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$'
}

// toucher notes what the group does that is being read.
type toucher struct {
	maps  Maps
	byID  map[uint64]*TableMap
	group Touched
}

// note takes the next event. What it cannot read is no error here: the applier says what is wrong.
func (t *toucher) note(e *Event) {
	kind := e.Type.Rows()
	switch {
	case e.Type == TableMapEvent:
		m, err := t.maps.Get(e)
		if err != nil {
			t.group.Unread = true
			return
		}
		if t.byID == nil || len(t.byID) >= mostMaps {
			t.byID = map[uint64]*TableMap{}
		}
		t.byID[m.ID] = m
	case kind != NotRows:
		r := reader{b: e.Body}
		t.rows(tableID(&r, e), kind, e.Length)
	case e.Type.hasTable():
		id, _ := e.RowsTable()
		t.rows(id, Update, e.Length)
	case e.Type == QueryEvent:
		if Begins(e) {
			return
		}
		text, err := queryText(e)
		if err != nil {
			t.group.Unread = true
		} else if !isWord(text, "COMMIT") {
			t.group.Texts = append(t.group.Texts, append([]byte(nil), text...))
		}
	case e.Type == QueryCompressedEvent, e.Type == ExecuteLoadQueryEvent, e.Type == TransactionPayloadEvent:
		t.group.Unread = true
	}
}

func (t *toucher) rows(id uint64, kind RowKind, n int64) {
	m := t.byID[id]
	if m == nil {
		t.group.Unread = true
		return
	}
	at := -1
	for i := range t.group.Tables {
		if t.group.Tables[i].Table == m.Table && t.group.Tables[i].Schema == m.Schema {
			at = i
		}
	}
	if at < 0 {
		at = len(t.group.Tables)
		t.group.Tables = append(t.group.Tables, TouchedTable{Schema: m.Schema, Table: m.Table})
	}
	if kind == Write {
		t.group.Tables[at].Added += n
	} else {
		t.group.Tables[at].Changed += n
	}
}

// changes reports whether the group updates or deletes rows.
func (t *toucher) changes() bool {
	return slices.ContainsFunc(t.group.Tables, func(x TouchedTable) bool { return x.Changed > 0 })
}

// take gives out what was noted of a group, and begins the next; it holds until then.
func (t *toucher) take(g Group) *Touched {
	t.group.Prepared = g.Kind == Prepared
	return &t.group
}

func (t *toucher) next() {
	t.group = Touched{Tables: t.group.Tables[:0]}
}
