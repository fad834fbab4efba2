// Package picture compares databases by all that SQL can see of them.
package picture

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Picture is all that SQL can see of a database, by what it is of: "rows child". Names of
// the database itself are left out.
type Picture map[string]string

// Blind says what a picture does not show.
type Blind struct {
	Counters bool // they may be kept
	Times    bool // of the system's versions of rows
	Order    bool // of rows
	Complete bool // nothing: a question that is not answered is an error
}

// catalogue are the tables of information_schema that are compared, with the column that has
// the database's name. Those that a server has not are left out by their absence.
var catalogue = map[string]string{
	"TABLES": "TABLE_SCHEMA", "COLUMNS": "TABLE_SCHEMA", "STATISTICS": "TABLE_SCHEMA", "PARTITIONS": "TABLE_SCHEMA", "VIEWS": "TABLE_SCHEMA",
	"KEY_COLUMN_USAGE": "TABLE_SCHEMA", "TABLE_CONSTRAINTS": "TABLE_SCHEMA", "REFERENTIAL_CONSTRAINTS": "CONSTRAINT_SCHEMA", "CHECK_CONSTRAINTS": "CONSTRAINT_SCHEMA",
	"TRIGGERS": "TRIGGER_SCHEMA", "ROUTINES": "ROUTINE_SCHEMA", "PARAMETERS": "SPECIFIC_SCHEMA", "EVENTS": "EVENT_SCHEMA", "SCHEMATA": "SCHEMA_NAME",
	"COLUMN_STATISTICS": "SCHEMA_NAME", "SCHEMATA_EXTENSIONS": "SCHEMA_NAME", "TABLES_EXTENSIONS": "TABLE_SCHEMA", "COLUMNS_EXTENSIONS": "TABLE_SCHEMA",
	"VIEW_TABLE_USAGE": "VIEW_SCHEMA", "SEQUENCES": "SEQUENCE_SCHEMA", "PERIODS": "TABLE_SCHEMA", "KEY_PERIOD_USAGE": "TABLE_SCHEMA",
	"ST_GEOMETRY_COLUMNS": "TABLE_SCHEMA",
}

// changing are columns that are of the copy and not of what was copied: sizes, estimates,
// times of making it. AUTO_INCREMENT stands in a question of its own.
var changing = regexp.MustCompile(`^(CREATED|LAST_ALTERED|CREATE_TIME|UPDATE_TIME|CHECK_TIME|TABLE_ROWS|AVG_ROW_LENGTH|DATA_LENGTH|INDEX_LENGTH|DATA_FREE|MAX_DATA_LENGTH|MAX_INDEX_LENGTH|` +
	`CHECKSUM|CARDINALITY|LAST_EXECUTED|AUTO_INCREMENT|Created|VERSION)$`)

// askedFormat is the format of rows that a table of Aria was made with. What it took instead stands in ROW_FORMAT, and
// in SHOW CREATE TABLE: what was asked for no copy can know.
var askedFormat = regexp.MustCompile(`row_format=\w+ ?`)

var counterText = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// named are character sets of columns, which MySQL may name in a clone where its template
// leaves them out (docs/databases.md). information_schema tells them all the same.
var named = regexp.MustCompile("(?m)^(  `.*?)(?: CHARACTER SET \\w+(?: COLLATE \\w+)?| COLLATE \\w+)")

// written are options that a table has by default, and that are told apart once they were
// written out, as a dump does.
var written = regexp.MustCompile(`\bpage_checksum=1 ?`)

// Look makes a picture of a database by a connection of an account that sees everything. It changes
// nothing, and moves no counter.
func Look(ctx context.Context, conn *sql.Conn, database string, b Blind) (Picture, error) {
	l := NewLooker(ctx, conn, database)
	l.blind = b
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	l.mysql = !strings.Contains(version, "MariaDB")
	l.question("", "SET SESSION sql_mode='', time_zone='+00:00'")
	if l.mysql {
		l.question("", "SET SESSION information_schema_stats_expiry=0")
		l.openTables()
	}
	for _, row := range l.Ask("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='information_schema'").Rows {
		if column := catalogue[row[0]]; column != "" {
			l.catalogue(row[0], column)
		}
	}
	l.tables()
	l.programs()
	if l.err == nil && b.Complete && len(l.refusals) > 0 {
		return nil, fmt.Errorf("look at %s: %v", database, l.refusals)
	}
	return l.picture, l.err
}

// openTables has MySQL open every table: of one that it has forgotten information_schema tells the
// number that was given last for the next one.
func (l *Looker) openTables() {
	list := l.Ask("SELECT table_name FROM information_schema.tables WHERE table_type='BASE TABLE' AND table_schema='" + l.database + "'")
	for _, row := range list.Rows {
		if len(row) == 1 {
			l.Ask("SHOW CREATE TABLE `" + l.database + "`.`" + strings.ReplaceAll(row[0], "`", "``") + "`")
		}
	}
}

// Looker asks one connection.
type Looker struct {
	ctx      context.Context
	conn     *sql.Conn
	database string
	picture  Picture
	blind    Blind
	mysql    bool
	err      error // the first that is not an answer about the database
	// refusals are the questions that the server did not answer. Of a template there are none.
	refusals []string
}

// NewLooker is one that asks about a database, whose name it leaves out of what the server says.
func NewLooker(ctx context.Context, conn *sql.Conn, database string) *Looker {
	return &Looker{ctx: ctx, conn: conn, database: database, picture: Picture{}}
}

// Answer is what came back: names of columns, and rows; or what the server said instead.
type Answer struct {
	Names []string
	Rows  [][]string
}

// Ask asks a question. An error of the server is an answer as well, in one row.
func (l *Looker) Ask(query string) Answer {
	rows, err := l.conn.QueryContext(l.ctx, query)
	if err != nil {
		return l.refused(query, err)
	}
	defer rows.Close()
	var a Answer
	a.Names, _ = rows.Columns() // of rows that are open
	values, places := make([]sql.RawBytes, len(a.Names)), make([]any, len(a.Names))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return l.refused(query, err)
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = "NULL"
			if v != nil {
				row[i] = string(v)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return l.refused(query, err)
	}
	return a
}

// Err is the first error that is not an answer about the database.
func (l *Looker) Err() error { return l.err }

func (l *Looker) refused(query string, err error) Answer {
	l.refusals = append(l.refusals, fmt.Sprintf("%s: %v", query, err))
	if n := Number(err); n == 0 && l.err == nil {
		l.err = err
	}
	return Answer{Names: []string{"error"}, Rows: [][]string{{l.anonymous(err.Error())}}}
}

// anonymous leaves the database's name out.
func (l *Looker) anonymous(text string) string { return strings.ReplaceAll(text, l.database, "DB") }

// question adds the answer of a question, line by line, but for columns that change.
func (l *Looker) question(of, query string) {
	a := l.Ask(query)
	for _, row := range a.Rows {
		var fields []string
		for i, v := range row {
			if !changing.MatchString(a.Names[i]) {
				fields = append(fields, a.Names[i]+"="+l.anonymous(v))
			}
		}
		l.add(of, strings.Join(fields, " "))
	}
}

func (l *Looker) add(of, line string) {
	if of != "" {
		l.picture[of] += line + "\n"
	}
}

// catalogue adds a table of information_schema, by the name of what its rows are about.
func (l *Looker) catalogue(name, column string) {
	a := l.Ask("SELECT * FROM information_schema." + name + " WHERE " + column + " = '" + l.database + "'")
	var lines []string
	for _, row := range a.Rows {
		var fields []string
		for i, v := range row {
			switch {
			case a.Names[i] == "AUTO_INCREMENT" && name == "TABLES" && !l.blind.Counters:
				l.add("counter", row[slices.Index(a.Names, "TABLE_NAME")]+" "+v)
			case !changing.MatchString(a.Names[i]) && v != "NULL":
				if a.Names[i] == "CREATE_OPTIONS" && slices.Contains(row, "Aria") {
					v = askedFormat.ReplaceAllString(v, "")
				}
				fields = append(fields, a.Names[i]+"="+l.anonymous(written.ReplaceAllString(v, "")))
			}
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	sort.Strings(lines)
	for _, line := range lines {
		l.add("information_schema."+name, line)
	}
	if text := l.picture["counter"]; name == "TABLES" && text != "" {
		counters := strings.Split(text, "\n")
		sort.Strings(counters)
		l.picture["counter"] = strings.Join(counters, "\n")
	}
}

// programs adds what is executed.
func (l *Looker) programs() {
	l.question("database", "SHOW CREATE DATABASE "+quote(l.database))
	for _, kind := range [][2]string{
		{"TRIGGER", "SELECT trigger_name, 'TRIGGER' FROM information_schema.triggers WHERE trigger_schema='%s'"},
		{"ROUTINE", "SELECT specific_name, routine_type FROM information_schema.routines WHERE routine_schema='%s' AND routine_type IN ('PROCEDURE','FUNCTION')"},
		{"EVENT", "SELECT event_name, 'EVENT' FROM information_schema.events WHERE event_schema='%s'"},
	} {
		for _, row := range l.Ask(fmt.Sprintf(kind[1], l.database)).Rows {
			if len(row) > 1 {
				l.question(strings.ToLower(row[1])+" "+row[0], "SHOW CREATE "+row[1]+" "+quote(l.database)+"."+quote(row[0]))
			}
		}
	}
}

// printed is a value in a difference: what is long by its length and sum.
func printed(v string) string {
	if len(v) > 80 {
		return fmt.Sprintf("%d bytes %08x", len(v), crc32.ChecksumIEEE([]byte(v)))
	}
	return strconv.Quote(v)
}
