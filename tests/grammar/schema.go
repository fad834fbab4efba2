package grammar

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name, Definition string
	// Kind is the first word of its type, which the rule for its values is named after.
	Kind string
	// Made says that it cannot be set, Counts that it has an AUTO_INCREMENT, Key that it is
	// one by which rows are found.
	Made, Counts, Key bool
}

// Table is a table of a schema.
type Table struct {
	Name    string
	Columns []*Column
	inside  []string // keys and the like
	behind  string
	key     int // index of the column by which most statements choose rows
	// Plain says that it has a primary key and nothing to do with other tables.
	Plain bool
}

// Settable are the columns that a statement may give values to.
func (t *Table) Settable() (list []*Column) {
	for _, c := range t.Columns {
		if !c.Made {
			list = append(list, c)
		}
	}
	return list
}

func (t *Table) counter() *Column {
	for _, c := range t.Columns {
		if c.Counts {
			return c
		}
	}
	return nil
}

func (t *Table) create() string {
	var lines []string
	for _, c := range t.Columns {
		lines = append(lines, Quote(c.Name)+" "+c.Definition)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s) %s", Quote(t.Name), strings.Join(append(lines, t.inside...), ", "), t.behind)
}

// Schema is a database as it is made up.
type Schema struct {
	Tables     []*Table
	Statements []string
}

var firstWord = regexp.MustCompile(`^[A-Za-z0-9]+`)

// NewColumn reads a column's definition.
func NewColumn(name, definition string) *Column {
	return &Column{
		Name: name, Definition: definition, Kind: strings.ToLower(firstWord.FindString(definition)), Key: name == "id" || name == "p",
		Made: strings.Contains(definition, "GENERATED"), Counts: strings.Contains(definition, "AUTO_INCREMENT"),
	}
}

// NewSchema makes up the schema called name of a text like schema.txt.
func NewSchema(r *rand.Rand, g Grammar, text, name string, s Software) Schema {
	b := builder{Maker: Maker{Rand: r, Grammar: g}}
	here := false
	for line := range strings.Lines(text) {
		line, offered := s.Offers(strings.TrimRight(line, "\n"))
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
	return Schema{b.Tables, b.statements}
}

// builder makes a schema line by line.
type builder struct {
	Maker
	now        *Table // being described; nil between tables, or where it is left out
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
			b.statements = append(b.statements, b.Fill(line[1:]))
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
			b.now, b.times = &Table{Name: rest}, 1
			if word == "many" {
				count, name, _ := strings.Cut(rest, " ")
				b.times, _ = strconv.Atoi(count)
				b.now.Name = name
			}
		}
	}
}

// within takes a line of a table.
func (b *builder) within(word, rest string) {
	t := b.now
	switch word {
	case ":":
		t.inside = append(t.inside, b.Fill(rest))
	case "=":
		t.behind = rest
	case "+":
		for range b.IntN(4) {
			t.Columns = append(t.Columns, NewColumn(fmt.Sprintf("c%d", len(t.Columns)), b.Make("type")))
		}
	default:
		t.Columns = append(t.Columns, NewColumn(word, rest))
		if word == "id" {
			t.key = len(t.Columns) - 1
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
			t.Name += fmt.Sprint(n)
		}
		t.Plain = strings.Contains(t.create(), "PRIMARY KEY") && !strings.Contains(t.create(), "FOREIGN KEY") && t.behind == "" && t.Name != "parent"
		b.Tables = append(b.Tables, &t)
		b.statements = append(b.statements, t.create())
	}
	b.now = nil
}

// rows fills the tables that have none. Parents come first, by their place in the text.
func (b *builder) rows(count string) {
	n, _ := strconv.Atoi(count)
	for _, t := range b.Tables[b.filled:] {
		b.At, b.Columns = t, nil
		for _, c := range t.Settable() {
			if !c.Counts {
				b.Columns = append(b.Columns, c)
			}
		}
		if len(b.Columns) == 0 {
			b.Columns = []*Column{t.counter()}
		}
		head := "INSERT IGNORE INTO " + Quote(t.Name) + " " + ColumnList(b.Columns) + " VALUES "
		for done := 0; done < n; done += 50 {
			var list []string
			for range 1 + b.IntN(min(50, n-done)) {
				list = append(list, b.Row())
			}
			b.statements = append(b.statements, head+strings.Join(list, ", "))
		}
	}
	b.filled = len(b.Tables)
}
