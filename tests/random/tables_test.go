package random

import (
	"strings"
)

// tables adds definitions and rows of tables, views and sequences.
func (l *looker) tables() {
	columns := map[string][]string{}
	for _, row := range l.ask("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='" + l.database + "' ORDER BY TABLE_NAME, ORDINAL_POSITION").rows {
		if len(row) > 1 {
			columns[row[0]] = append(columns[row[0]], row[1])
		}
	}
	for _, row := range l.ask("SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA='" + l.database + "'").rows {
		if len(row) < 2 {
			continue
		}
		name, kind := row[0], row[1]
		full := quote(l.database) + "." + quote(name)
		l.definition(name, full)
		switch kind {
		case "BASE TABLE":
			l.rows(name, "SELECT "+list(columns[name])+" FROM "+full+" USE INDEX ()")
		case "SYSTEM VERSIONED":
			l.rows(name, "SELECT "+l.versioned(columns[name])+" FROM "+full+" FOR SYSTEM_TIME ALL USE INDEX ()")
		default: // a view, whose rows have no order, or a sequence, which has one
			l.rows(name, "SELECT COUNT(*) FROM "+full)
			if kind == "SEQUENCE" {
				l.rows(name, "SELECT * FROM "+full)
			}
		}
	}
}

// definition adds SHOW CREATE TABLE, and the counter that it tells.
func (l *looker) definition(name, full string) {
	a := l.ask("SHOW CREATE TABLE " + full)
	if len(a.rows) == 0 {
		return
	}
	text := a.rows[0][len(a.rows[0])-1]
	if len(a.names) > 1 {
		text = a.rows[0][1]
	}
	if counter := counterText.FindString(text); !l.blind.counters {
		l.add("shown counter "+name, counter)
	}
	text = counterText.ReplaceAllString(text, "")
	if l.mysql {
		text = named.ReplaceAllString(text, "$1")
	}
	l.add("table "+name, l.anonymous(text))
}

// versioned lists the columns of a table with system versions, and their times, which are columns
// that are invisible.
func (l *looker) versioned(columns []string) string {
	if l.blind.times {
		return list(columns) + ", row_end > '2037-12-31'"
	}
	return list(columns) + ", row_start, row_end"
}

func list(columns []string) string {
	var quoted []string
	for _, c := range columns {
		quoted = append(quoted, quote(c))
	}
	return strings.Join(quoted, ",")
}

// rows adds the rows of a table, in the order in which they come.
func (l *looker) rows(name, query string) {
	var lines []string
	for _, row := range l.ask(query).rows {
		var b strings.Builder
		for _, v := range row {
			b.WriteString(printed(v))
			b.WriteByte(' ')
		}
		lines = append(lines, b.String()+"\n")
	}
	l.picture["rows "+name] += strings.Join(lines, "")
}
