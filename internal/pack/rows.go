package pack

import (
	"bytes"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// target is what the head of an INSERT says.
type target struct {
	head  []byte
	table *table
	// merges says that statements may be merged at all.
	merges bool
	// columns are those of the rows, nil if they are not known; counter is the field of the
	// AUTO_INCREMENT column; see dump.Table.Counter.
	columns []dump.Column
	counter int
}

// rows are those that were not written yet.
type rows struct {
	target target
	// text are rows that make up one statement, of one kind; last is where those of the last
	// statement of the dump begin.
	text []byte
	kind string
	last int
	// shy says that text is one row that came with others and must not be alone.
	shy bool
	// open is what happens to the rest of a statement that comes in parts.
	open opened

	fields [][]byte
	mask   []byte
}

type opened uint8

const (
	notOpen   opened = iota
	openAsIs         // the rest is part of the same statement
	openSplit        // the rest is rows with numbers of their own
)

// Kinds of rows. Statements of one kind may be merged; those of explicit rows split as well. Where
// a server makes numbers, how many it passes over depends on what is in a statement: rows with
// numbers and rows without stay the statement that they are. For a table that is not known, any
// field may be that of the number; the kind is then a mask, a byte for each field.
const (
	explicit  = "explicit"
	whole     = "whole"
	generated = "generated"
	asIs      = ""
)

// separator stands between merged rows.
const separator = ",\n"

// insert takes the rows of a statement.
func (p *packer) insert(st *dump.Statement) error {
	w := &p.rows
	switch w.open {
	case openAsIs:
		p.put([]byte(separator), st.Rows)
		p.close(st)
		return nil
	case openSplit:
		if p.kind(st) != explicit {
			return &dump.Error{File: p.name, Line: st.Line, Msg: "an INSERT of more than 16 MB has rows with an AUTO_INCREMENT number and rows without",
				Hint: "make the dump again with smaller statements"}
		}
		p.addRows(st)
		p.close(st)
		return nil
	}
	if w.target.table == nil || !bytes.Equal(w.target.head, st.Text) {
		p.flush()
		in := dump.ParseInsert(st.Text)
		w.target = p.targetOf(in, st.Text)
		p.begin(w.target.table, in)
	}
	kind := p.kind(st)
	if kind != w.kind {
		p.flush()
	}
	size := len(w.target.head) + len(st.Rows)
	switch {
	case kind == explicit:
		w.kind, w.open = kind, openSplit
		p.addRows(st)
	case kind == asIs || st.More || size > p.limit:
		p.flush()
		w.open = openAsIs
		p.write(st.Text, st.Rows)
	default:
		if len(w.text) > 0 && len(w.text)+len(separator)+size > p.limit {
			p.writeRows(w.text)
		}
		w.kind = kind
		if len(w.text) > 0 {
			w.text = append(w.text, separator...)
		}
		w.last = len(w.text)
		w.text = append(w.text, st.Rows...)
		w.open = notOpen
		return nil
	}
	p.close(st)
	return nil
}

// write writes the beginning of a statement, or all of it.
func (p *packer) write(parts ...[]byte) {
	p.out.statements++
	p.put(parts...)
}

// writeRows writes rows as a statement, and takes them for written.
func (p *packer) writeRows(rows []byte) {
	if len(rows) > 0 {
		p.write(p.rows.target.head, rows, []byte(";\n"))
	}
	p.rows.text, p.rows.last, p.rows.shy = p.rows.text[:0], 0, false
}

// close ends a statement if there is no more of it.
func (p *packer) close(st *dump.Statement) {
	if st.More {
		return
	}
	if p.rows.open == openAsIs {
		p.put([]byte(";\n"))
	}
	p.rows.open = notOpen
}

// addRows adds rows that it does not matter for in which statement they are.
func (p *packer) addRows(st *dump.Statement) {
	w := &p.rows
	from, last := 0, len(st.Ends)-1
	for i, end := range st.Ends {
		row := st.Rows[from:end]
		row = row[bytes.IndexByte(row, '('):]
		from = end
		size := len(w.target.head) + len(row)
		full := len(w.text) > 0 && len(w.text)+len(separator)+size > p.limit
		// NULL for a column that cannot have it is an error in a statement of one row, and a
		// warning in one of several, if the mode is not strict: such a row does not go alone.
		if full && !w.shy && (i < last || i == 0 || !hasNull(row)) {
			p.writeRows(w.text)
		}
		if size > p.limit && len(w.text) == 0 && (last == 0 || !hasNull(st.Rows)) { // it need not be copied
			p.write(w.target.head, row, []byte(";\n"))
			continue
		}
		if len(w.text) > 0 {
			w.text = append(w.text, separator...)
			w.shy = false
		} else {
			w.shy = last > 0 && hasNull(row)
		}
		w.text = append(w.text, row...)
	}
}

// hasNull says that there may be a NULL in a row.
func hasNull(row []byte) bool {
	for {
		i := bytes.IndexAny(row, "nN")
		if i < 0 || len(row)-i < len("NULL") {
			return false
		}
		if row = row[i:]; bytes.EqualFold(row[:len("NULL")], []byte("NULL")) {
			return true
		}
		row = row[1:]
	}
}

// flush writes the rows that were not written yet. Where numbers were generated, the last
// statement of the dump stays by itself: LAST_INSERT_ID() tells the first number of a statement.
func (p *packer) flush() {
	w := &p.rows
	if n := w.last; n > 0 && w.kind != explicit && w.kind != whole {
		text := w.text
		p.writeRows(text[:n-len(separator)])
		p.writeRows(text[n:])
	} else {
		p.writeRows(w.text)
	}
	w.kind = asIs
}

// targetOf finds the table of an INSERT.
func (p *packer) targetOf(in dump.Insert, head []byte) target {
	name := p.resolve(in.Database, in.Table)
	t := p.tables[name]
	if t == nil {
		t = &table{name: name}
		p.tables[name] = t
	}
	to := target{head: bytes.Clone(head), table: t, counter: dump.NoCounter}
	// REPLACE and INSERT IGNORE mean something else in a larger statement where they fail, and a
	// trigger may look at the rows before. A table that is not known may be a view of one that
	// has triggers.
	to.merges = in.Plain && !p.odd && !p.watched[name] && (t.shape != nil || len(p.watched) == 0)
	if t.shape == nil {
		return to
	}
	to.columns = t.shape.Into(in)
	to.counter = t.shape.Counter(to.columns)
	return to
}

// kind returns the kind of the rows of a statement.
func (p *packer) kind(st *dump.Statement) string {
	to := &p.rows.target
	switch {
	case !to.merges:
		return asIs
	case to.columns == nil:
		return p.kindOfUnknown(st)
	case to.counter == dump.NoCounter:
		return p.explicitKind()
	case to.counter == dump.OmittedCounter:
		return generated
	}
	from, numbers, nulls := 0, 0, 0
	for _, end := range st.Ends {
		switch field := p.scanner.Field(st.Rows[from:end], to.counter); {
		case dump.Positive(field):
			numbers++
		case classOf(field) == 'N':
			nulls++
		}
		from = end
	}
	switch len(st.Ends) {
	case numbers:
		return p.explicitKind()
	case nulls:
		return generated
	}
	return asIs
}

// explicitKind returns the kind of rows with numbers of their own. Engines without transactions
// are strict with the first row of a statement only, so there it matters which one that is.
func (p *packer) explicitKind() string {
	if p.rows.target.table.shape.InnoDB {
		return explicit
	}
	return whole
}

// kindOfUnknown returns the mask of all rows, if they have the same.
func (p *packer) kindOfUnknown(st *dump.Statement) string {
	w := &p.rows
	from, first := 0, ""
	for i, end := range st.Ends {
		w.fields, w.mask = p.scanner.Fields(w.fields[:0], st.Rows[from:end]), w.mask[:0]
		from = end
		for _, field := range w.fields {
			w.mask = append(w.mask, classOf(field))
		}
		switch {
		case i == 0 && string(w.mask) == w.kind:
			first = w.kind
		case i == 0:
			first = string(w.mask)
		case string(w.mask) != first:
			return asIs
		}
	}
	return first
}

// classOf tells what a literal may be in an AUTO_INCREMENT column: 'N' for NULL, and DEFAULT,
// which have a number made; '0' for what means the same in some modes; 'n' for all else. No
// program dumps a number as text without digits, or in hexadecimal.
func classOf(b []byte) byte {
	if len(b) > 1 && (b[0] == '\'' || b[0] == '"') {
		b = b[1 : len(b)-1]
	} else if len(b) == 4 && strings.EqualFold(string(b), "NULL") || len(b) == 7 && strings.EqualFold(string(b), "DEFAULT") {
		return 'N'
	}
	for _, c := range b {
		switch {
		case c >= '1' && c <= '9':
			return 'n'
		case c == '0' || c == ' ' || c == '.' || c == '-' || c == '+':
		case c|0x20 == 'f' && strings.EqualFold(string(b), "FALSE"):
			return '0'
		default:
			return 'n'
		}
	}
	return '0'
}
