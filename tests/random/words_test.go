package random

import (
	"fmt"
	"strings"
)

// words are the holes of the grammar that depend on the schema or on chance.
var words map[string]func(m *maker) string

func init() {
	words = map[string]func(m *maker) string{
		"table":    (*maker).table,
		"plain":    (*maker).plain,
		"it":       func(m *maker) string { return quote(m.at.name) },
		"other":    func(m *maker) string { return quote(pick(m.Rand, m.tables).name) },
		"key":      func(m *maker) string { return quote(m.at.columns[m.at.key].name) },
		"column":   func(m *maker) string { m.column = pick(m.Rand, m.at.columns); return quote(m.column.name) },
		"settable": func(m *maker) string { m.column = pick(m.Rand, m.at.settable()); return quote(m.column.name) },
		"value":    func(m *maker) string { return m.value(m.column) },
		"columns":  (*maker).someColumns,
		"rows":     (*maker).rows,
		"fresh":    (*maker).fresh,
		"known":    (*maker).knownName,
		"any":      func(m *maker) string { return fmt.Sprint(m.IntN(2000) - 1000) },
		"small":    func(m *maker) string { return fmt.Sprint(m.IntN(30)) },
		"large":    func(m *maker) string { return fmt.Sprint(m.IntN(900) + 30) },
		"digit":    func(m *maker) string { return fmt.Sprint(m.IntN(10)) },
		"month":    func(m *maker) string { return fmt.Sprint(m.IntN(3) + 1) },
		"year":     func(m *maker) string { return fmt.Sprint(m.IntN(150) + 1950) },
		"hex":      func(m *maker) string { return fmt.Sprintf("%02x", m.IntN(256)) },
		"xid":      func(m *maker) string { return fmt.Sprintf("x%s_%d", m.lease, m.IntN(3)) },
		"lock":     func(m *maker) string { return fmt.Sprintf("l%s_%d", m.lease, m.IntN(3)) },
	}
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m *maker) table() string {
	m.at = pick(m.Rand, m.tables)
	return quote(m.at.name)
}

// plain chooses a table with rows that can be undone one by one.
func (m *maker) plain() string {
	for range 50 {
		if m.table(); m.at.plain {
			break
		}
	}
	return quote(m.at.name)
}

// fresh returns a name that nothing has.
func (m *maker) fresh() string {
	m.n++
	name := fmt.Sprintf("new%d", m.n)
	m.known = append(m.known, name)
	return name
}

// knownName returns one that something may have.
func (m *maker) knownName() string {
	if len(m.known) == 0 {
		return "nothing"
	}
	return pick(m.Rand, m.known)
}

// forget is for after a reset.
func (m *maker) forget() { m.known = nil }

// someColumns chooses what rows gives values for: mostly all but the key.
func (m *maker) someColumns() string {
	m.columns = nil
	for _, c := range m.at.settable() {
		if c.counts && m.IntN(4) > 0 || m.IntN(6) == 0 {
			continue
		}
		m.columns = append(m.columns, c)
	}
	return columnList(m.columns)
}

func columnList(columns []*column) string {
	var names []string
	for _, c := range columns {
		names = append(names, quote(c.name))
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (m *maker) rows() string {
	var rows []string
	for range 1 + m.IntN(4)*m.IntN(2) {
		rows = append(rows, m.row())
	}
	return strings.Join(rows, ", ")
}

func (m *maker) row() string {
	var values []string
	for _, c := range m.columns {
		values = append(values, m.value(c))
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// value returns a value for a column.
func (m *maker) value(c *column) string {
	if c.key {
		return fmt.Sprint(m.IntN(60))
	}
	return m.make("value " + c.kind)
}
