// Package template reads what a database is made of, makes faithful copies of it in the
// same server, and puts back what a copy lost of it.
//
// A template is a database that others are cloned from. Its Shape is all of it but the
// rows: they are copied by the server, from the template itself. Sessions come from
// server.OpenUnlogged: what happens here is not written to the binary log, checks no
// foreign keys and fires no trigger that the copy does not have yet.
package template

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Shape is all that a database is made of but its rows.
type Shape struct {
	Name      string `json:"name"`
	Charset   string `json:"charset"`
	Collation string `json:"collation"`
	// Options are what SHOW CREATE DATABASE says, behind the name.
	Options string `json:"options"`
	// Folds says that the server takes names of databases in any case.
	Folds bool `json:"folds,omitempty"`
	// Tables are in the order of their names, without views.
	Tables []Table `json:"tables"`
	// Objects are in the order in which they can be made.
	Objects []Object `json:"objects"`
	// Keys are the foreign keys within the database.
	Keys []ForeignKey `json:"keys"`
	// Following are the tables whose rows change with those of other databases, by foreign keys.
	Following []string `json:"following,omitempty"`
	// Files, if not nil, has clones made of files where that is faster.
	Files *Files `json:"-"`
	// Paused are the events that are enabled, but in the template itself.
	Paused []string `json:"-"`
	// Sums tell whether its rows are still the same, of one that Read has read.
	Sums *Sums `json:"-"`
	// Definers says who defines the objects of clones.
	Definers Definers `json:"-"`

	// elsewhere says what in it names other databases, and others are those of the server, as they are written, by how
	// a server compares them. reaches says that a procedure or event names one.
	elsewhere []string
	others    map[string]string
	reaches   bool

	// made, of a test, is called when a clone is there and not compared yet.
	made func(name string)
}

// Kind is what information_schema.tables calls a table.
type Kind string

// Kinds of tables.
const (
	Base      Kind = "BASE TABLE"
	Sequence  Kind = "SEQUENCE"
	Versioned Kind = "SYSTEM VERSIONED"
)

// Table is the shape of one table.
type Table struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Create is what SHOW CREATE TABLE, or SEQUENCE, says.
	Create string `json:"create"`
	Engine string `json:"engine"`
	// State is where a sequence stands.
	State SequenceState `json:"state"`
	// Bytes and Rows are about what the table holds, as the server estimates it.
	Bytes int64 `json:"bytes"`
	Rows  int64 `json:"rows"`
	// Columns are all, in their order.
	Columns []Column `json:"columns"`
	// Keyed says that it has a primary key, or a unique one of whole columns without NULL: no two rows
	// are the same, and their order is the key's. InnoDB orders rows by no unique key over the
	// beginning of a column.
	Keyed bool `json:"keyed"`
	// Count is how many rows it has, of a table all of whose columns are computed: that is all there is
	// to know of its rows.
	Count int64 `json:"count,omitempty"`
	// Primary are the columns of its primary key, by number from 0, if a row can be found by what
	// they hold: nil if one is computed, or counts with its beginning only.
	Primary []int `json:"primary,omitempty"`
}

// Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	// Type is its data type, without length.
	Type string `json:"type"`
	// Generated says that INSERT may not give it.
	Generated bool `json:"generated,omitempty"`
	// Stored says that it is computed when a row is written.
	Stored bool `json:"stored,omitempty"`
	// Counts says that it is AUTO_INCREMENT.
	Counts bool `json:"counts,omitempty"`
	// Period says that it tells from or until when a row of a versioned table counts.
	Period bool `json:"period,omitempty"`
}

// ForeignKey is a foreign key between two tables of one database.
type ForeignKey struct {
	Child  string `json:"child"`
	Parent string `json:"parent"`
	// Columns are those of the parent that are referred to, by number from 0.
	Columns []int `json:"columns"`
	// OnDelete and OnUpdate say that the child's rows change with the parent's.
	OnDelete bool `json:"on_delete"`
	OnUpdate bool `json:"on_update"`
}

// Object is a view, a routine, a trigger or an event.
type Object struct {
	// Kind is the word in CREATE and DROP: VIEW, FUNCTION, PACKAGE BODY, ...
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Table is the one that a trigger belongs to.
	Table string `json:"table,omitempty"`
	// Create is the statement, as bytes of the character set Client.
	Create string `json:"create"`
	// SQLMode, Client, Connection and Zone are the settings that it was made with.
	SQLMode    string `json:"sql_mode,omitempty"`
	Client     string `json:"client,omitempty"`
	Connection string `json:"connection,omitempty"`
	Zone       string `json:"zone,omitempty"`
	// Collation is the one that the database had then, "" of a view, which has none.
	Collation string `json:"collation,omitempty"`
}

// Table returns the table of a name, or nil.
func (s *Shape) Table(name string) *Table {
	i, found := slices.BinarySearchFunc(s.Tables, name, func(t Table, name string) int { return strings.Compare(t.Name, name) })
	if !found {
		return nil
	}
	return &s.Tables[i]
}

// HasSequences reports whether there are sequences.
func (s *Shape) HasSequences() bool {
	return slices.ContainsFunc(s.Tables, func(t Table) bool { return t.Kind == Sequence })
}

// Counted returns the names of the tables that have an AUTO_INCREMENT.
func (s *Shape) Counted() []string {
	var list []string
	for _, t := range s.Tables {
		if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Counts }) {
			list = append(list, t.Name)
		}
	}
	return list
}

// impliedCharset is a character set that the collation behind it implies. MySQL shows it or
// not by how a column was declared, and forgets that when its own statement is run again,
// as a dump does.
var impliedCharset = regexp.MustCompile(` CHARACTER SET \w+ COLLATE `)

// definition is what a table is but its counter: SHOW CREATE TABLE without it, and without
// the name of its database.
func definition(create, database string) string {
	create = withoutSystemSpace(replaceOutsideStrings(create, dbconn.QuoteName(database)+".", ""))
	create = impliedCharset.ReplaceAllString(create, " COLLATE ")
	from, to := counterIn(create)
	return create[:from] + create[to:]
}

// These are what MySQL says of each partition that innodb_file_per_table=0 has put into the
// system tablespace, and what it refuses in a statement (error 1478).
const (
	systemSpaceWords = " TABLESPACE = "
	systemSpaceName  = "`innodb_system`"
)

// withoutSystemSpace is a table's definition as MySQL takes it; the setting puts its partitions
// into the system tablespace again.
func withoutSystemSpace(create string) string {
	if !strings.Contains(create, systemSpaceWords+systemSpaceName) {
		return create
	}
	var b strings.Builder
	for len(create) > 0 {
		i := strings.IndexAny(create, "'`")
		if i < 0 {
			break
		}
		n := quoted(create[i:])
		if create[i:i+n] == systemSpaceName && strings.HasSuffix(create[:i], systemSpaceWords) {
			b.WriteString(create[:i-len(systemSpaceWords)])
		} else {
			b.WriteString(create[:i+n])
		}
		create = create[i+n:]
	}
	b.WriteString(create)
	return b.String()
}

// CounterOf returns AUTO_INCREMENT as SHOW CREATE TABLE tells it, 0 if it does not: there is
// none, or nothing was inserted yet.
func CounterOf(create string) (uint64, error) {
	from, to := counterIn(create)
	if from == to {
		return 0, nil
	}
	n, err := strconv.ParseUint(create[from+len(counterWord):to], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read AUTO_INCREMENT: %w", err)
	}
	return n, nil
}

const counterWord = " AUTO_INCREMENT="

// counterIn returns where AUTO_INCREMENT stands in a table's definition: behind the columns, and
// before any text of its owner's, such as a comment. Both are 0 if it does not.
func counterIn(create string) (from, to int) {
	at := max(strings.LastIndex(create, "\n)"), 0)
	options, _, _ := strings.Cut(create[at:], "'")
	i := strings.Index(options, counterWord)
	if i < 0 {
		return 0, 0
	}
	rest := strings.TrimLeft(options[i+len(counterWord):], "0123456789")
	return at + i, at + len(options) - len(rest)
}

// requalify is the statement that makes a view for another database, "" for none, where the server
// itself puts the name: at the functions that it calls, which it writes out in full.
func requalify(o Object, from, to string) string {
	if to != "" {
		to = dbconn.QuoteName(to) + "."
	}
	return replaceOutsideStrings(o.Create, dbconn.QuoteName(from)+".", to)
}

// replaceOutsideStrings replaces what does not lie in a string literal. The text is a
// view's or a table's as the server writes it: literals in single quotes, with backslashes
// or doubled quotes in them.
func replaceOutsideStrings(text, from, to string) string {
	var b strings.Builder
	for len(text) > 0 {
		i := strings.IndexAny(text, "'`")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, from):
			b.WriteString(to)
			text = text[len(from):]
		default:
			n := quoted(text)
			b.WriteString(text[:n])
			text = text[n:]
		}
	}
	b.WriteString(text)
	return b.String()
}

// quoted is the length of the quoted thing that text begins with. A doubled quote is two
// things side by side, which is as good.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}
