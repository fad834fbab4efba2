package picture

import (
	"slices"
	"strings"
)

// tables adds definitions and rows of tables, views and sequences.
func (l *Looker) tables() {
	columns := map[string][]string{}
	for _, row := range l.Ask("SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='" + l.database + "' ORDER BY TABLE_NAME, ORDINAL_POSITION").Rows {
		if len(row) > 1 {
			columns[row[0]] = append(columns[row[0]], row[1])
		}
	}
	for _, row := range l.Ask("SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA='" + l.database + "'").Rows {
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
func (l *Looker) definition(name, full string) {
	a := l.Ask("SHOW CREATE TABLE " + full)
	if len(a.Rows) == 0 {
		return
	}
	text := a.Rows[0][len(a.Rows[0])-1]
	if len(a.Names) > 1 {
		text = a.Rows[0][1]
	}
	if counter := counterText.FindString(text); !l.blind.Counters {
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
func (l *Looker) versioned(columns []string) string {
	if l.blind.Times {
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
func (l *Looker) rows(name, query string) {
	var lines []string
	for _, row := range l.Ask(query).Rows {
		var b strings.Builder
		for _, v := range row {
			b.WriteString(printed(v))
			b.WriteByte(' ')
		}
		lines = append(lines, b.String()+"\n")
	}
	if l.blind.Order {
		slices.Sort(lines)
	}
	l.picture["rows "+name] += strings.Join(lines, "")
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
