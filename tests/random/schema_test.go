package random

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// column is a column of a template's table.
type column struct {
	name, definition string
	// kind is the first word of its type, which the rule for its values is named after.
	kind string
	// made says that it cannot be set, counts that it has an AUTO_INCREMENT, key that it is
	// one by which rows are found.
	made, counts, key bool
}

// table is a table of a template.
type table struct {
	name    string
	columns []*column
	inside  []string // keys and the like
	behind  string
	key     int // index of the column by which most statements choose rows
	// plain says that it has a primary key and nothing to do with other tables.
	plain bool
}

func (t *table) settable() (list []*column) {
	for _, c := range t.columns {
		if !c.made {
			list = append(list, c)
		}
	}
	return list
}

func (t *table) counter() *column {
	for _, c := range t.columns {
		if c.counts {
			return c
		}
	}
	return nil
}

func (t *table) create() string {
	var lines []string
	for _, c := range t.columns {
		lines = append(lines, quote(c.name)+" "+c.definition)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s) %s", quote(t.name), strings.Join(append(lines, t.inside...), ", "), t.behind)
}

// schema is a template as it is made up.
type schema struct {
	tables     []*table
	statements []string
}

var firstWord = regexp.MustCompile(`^[A-Za-z0-9]+`)

func newColumn(name, definition string) *column {
	return &column{
		name: name, definition: definition, kind: strings.ToLower(firstWord.FindString(definition)), key: name == "id" || name == "p",
		made: strings.Contains(definition, "GENERATED"), counts: strings.Contains(definition, "AUTO_INCREMENT"),
	}
}

// newSchema makes up the schema called name of a text like schema.txt.
func newSchema(r *rand.Rand, g grammar, text, name string, s software) schema {
	b := builder{maker: maker{Rand: r, grammar: g}}
	here := false
	for line := range strings.Lines(text) {
		line, offered := s.offers(strings.TrimRight(line, "\n"))
		if line == "" || line[0] == '#' {
			continue
		}
		if word, rest, _ := strings.Cut(line, " "); word == "schema" {
			here = rest == name
		} else if here {
			b.line(line, offered)
		}
	}
	b.end()
	return schema{b.tables, b.statements}
}

// builder makes a schema line by line.
type builder struct {
	maker
	now        *table // being described; nil between tables, or where it is left out
	times      int
	doing      bool
	statements []string
	filled     int // tables that have their rows
}

func (b *builder) line(line string, offered bool) {
	word, rest, _ := strings.Cut(strings.TrimLeft(line, "\t"), " ")
	inside := line[0] == '\t'
	switch {
	case inside && b.doing:
		if offered {
			b.statements = append(b.statements, b.fill(line[1:]))
		}
	case inside:
		if b.now != nil && offered {
			b.within(word, rest)
		}
	case word == "do":
		b.end()
		b.doing = true
	case word == "rows":
		b.end()
		b.rows(rest)
	default:
		b.end()
		if offered && (word != "table?" || b.IntN(4) > 0) {
			b.now, b.times = &table{name: rest}, 1
			if word == "many" {
				count, name, _ := strings.Cut(rest, " ")
				b.times, _ = strconv.Atoi(count)
				b.now.name = name
			}
		}
	}
}

// within takes a line of a table.
func (b *builder) within(word, rest string) {
	t := b.now
	switch word {
	case ":":
		t.inside = append(t.inside, b.fill(rest))
	case "=":
		t.behind = rest
	case "+":
		for range b.IntN(4) {
			t.columns = append(t.columns, newColumn(fmt.Sprintf("c%d", len(t.columns)), b.make("type")))
		}
	default:
		t.columns = append(t.columns, newColumn(word, rest))
		if word == "id" {
			t.key = len(t.columns) - 1
		}
	}
}

// end ends the table that was described.
func (b *builder) end() {
	if b.now == nil {
		return
	}
	for n := range b.times {
		t := *b.now
		if b.times > 1 {
			t.name += fmt.Sprint(n)
		}
		t.plain = strings.Contains(t.create(), "PRIMARY KEY") && !strings.Contains(t.create(), "FOREIGN KEY") && t.behind == "" && t.name != "parent"
		b.tables = append(b.tables, &t)
		b.statements = append(b.statements, t.create())
	}
	b.now = nil
}

// rows fills the tables that have none. Parents come first, by their place in the text.
func (b *builder) rows(count string) {
	n, _ := strconv.Atoi(count)
	for _, t := range b.tables[b.filled:] {
		b.at, b.columns = t, nil
		for _, c := range t.settable() {
			if !c.counts {
				b.columns = append(b.columns, c)
			}
		}
		if len(b.columns) == 0 {
			b.columns = []*column{t.counter()}
		}
		head := "INSERT IGNORE INTO " + quote(t.name) + " " + columnList(b.columns) + " VALUES "
		for done := 0; done < n; done += 50 {
			var list []string
			for range 1 + b.IntN(min(50, n-done)) {
				list = append(list, b.row())
			}
			b.statements = append(b.statements, head+strings.Join(list, ", "))
		}
	}
	b.filled = len(b.tables)
}
