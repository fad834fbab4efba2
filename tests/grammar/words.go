package grammar

import (
	"fmt"
	"strings"
)

// words are the holes of the grammar that depend on the schema or on chance.
var words map[string]func(m *Maker) string

func init() {
	words = map[string]func(m *Maker) string{
		"table":    (*Maker).table,
		"plain":    (*Maker).plain,
		"it":       func(m *Maker) string { return Quote(m.At.Name) },
		"other":    func(m *Maker) string { return Quote(Pick(m.Rand, m.Tables).Name) },
		"key":      func(m *Maker) string { return Quote(m.At.Columns[m.At.key].Name) },
		"column":   func(m *Maker) string { m.column = Pick(m.Rand, m.At.Columns); return Quote(m.column.Name) },
		"settable": func(m *Maker) string { m.column = Pick(m.Rand, m.At.Settable()); return Quote(m.column.Name) },
		"value":    func(m *Maker) string { return m.value(m.column) },
		"columns":  (*Maker).someColumns,
		"rows":     (*Maker).rows,
		"fresh":    (*Maker).fresh,
		"known":    (*Maker).knownName,
		"last":     (*Maker).last,
		"row":      (*Maker).Row,
		"any":      func(m *Maker) string { return fmt.Sprint(m.IntN(2000) - 1000) },
		"small":    func(m *Maker) string { return fmt.Sprint(m.IntN(30)) },
		"large":    func(m *Maker) string { return fmt.Sprint(m.IntN(900) + 30) },
		"digit":    func(m *Maker) string { return fmt.Sprint(m.IntN(10)) },
		"month":    func(m *Maker) string { return fmt.Sprint(m.IntN(3) + 1) },
		"year":     func(m *Maker) string { return fmt.Sprint(m.IntN(150) + 1950) },
		"hex":      func(m *Maker) string { return fmt.Sprintf("%02x", m.IntN(256)) },
		"xid":      func(m *Maker) string { return fmt.Sprintf("x%s_%d", m.Scope, m.IntN(3)) },
		"lock":     func(m *Maker) string { return fmt.Sprintf("l%s_%d", m.Scope, m.IntN(3)) },
	}
}

// Quote puts a name into backquotes.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m *Maker) table() string {
	m.At = Pick(m.Rand, m.Tables)
	return Quote(m.At.Name)
}

// plain chooses a table with rows that can be undone one by one.
func (m *Maker) plain() string {
	for range 50 {
		if m.table(); m.At.Plain {
			break
		}
	}
	return Quote(m.At.Name)
}

// fresh returns a name that nothing has.
func (m *Maker) fresh() string {
	m.n++
	name := fmt.Sprintf("new%d", m.n)
	m.known = append(m.known, name)
	return name
}

// last returns the newest name.
func (m *Maker) last() string {
	if len(m.known) == 0 {
		return "nothing"
	}
	return m.known[len(m.known)-1]
}

// knownName returns one that something may have.
func (m *Maker) knownName() string {
	if len(m.known) == 0 {
		return "nothing"
	}
	return Pick(m.Rand, m.known)
}

// Forget is for after a reset.
func (m *Maker) Forget() { m.known = nil }

// someColumns chooses what rows gives values for: mostly all but the key.
func (m *Maker) someColumns() string {
	m.Columns = nil
	for _, c := range m.At.Settable() {
		if c.Counts && m.IntN(4) > 0 || m.IntN(6) == 0 {
			continue
		}
		m.Columns = append(m.Columns, c)
	}
	return ColumnList(m.Columns)
}

// ColumnList names columns in parentheses.
func ColumnList(columns []*Column) string {
	var names []string
	for _, c := range columns {
		names = append(names, Quote(c.Name))
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (m *Maker) rows() string {
	var rows []string
	for range 1 + m.IntN(4)*m.IntN(2) {
		rows = append(rows, m.Row())
	}
	return strings.Join(rows, ", ")
}

// Row makes up a row for the columns that are chosen.
func (m *Maker) Row() string {
	var values []string
	for _, c := range m.Columns {
		values = append(values, m.value(c))
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// value returns a value for a column.
func (m *Maker) value(c *Column) string {
	if c.Key {
		return fmt.Sprint(m.IntN(60))
	}
	return m.Make("value " + c.Kind)
}
