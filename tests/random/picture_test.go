package random

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

// picture is all that SQL can see of a database, by what it is of: "rows child". Names of
// the database itself are left out.
type picture map[string]string

// blind says what a comparison does not look at.
type blind struct {
	counters bool // they may be kept
	times    bool // of the system's versions of rows
	complete bool // nothing: a question that is not answered is an error
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

var counterText = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// named are character sets of columns, which MySQL may name in a clone where its template
// leaves them out (docs/databases.md). information_schema tells them all the same.
var named = regexp.MustCompile("(?m)^(  `.*?)(?: CHARACTER SET \\w+(?: COLLATE \\w+)?| COLLATE \\w+)")

// written are options that a table has by default, and that are told apart once they were
// written out, as a dump does.
var written = regexp.MustCompile(`\bpage_checksum=1 ?`)

// look makes a picture of a database. It changes nothing, and moves no counter.
func (in *instance) look(ctx context.Context, database string, b blind) (picture, error) {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	l := looker{ctx: ctx, conn: conn, database: database, picture: picture{}, blind: b, mysql: in.software.flavour == "mysql"}
	l.question("", "SET SESSION sql_mode='', time_zone='+00:00'")
	if l.mysql {
		l.question("", "SET SESSION information_schema_stats_expiry=0")
		l.openTables()
	}
	for _, name := range in.catalogues {
		l.catalogue(name, catalogue[name])
	}
	l.tables()
	l.programs()
	if l.err == nil && b.complete && len(l.refusals) > 0 {
		return nil, fmt.Errorf("look at %s: %v", database, l.refusals)
	}
	return l.picture, l.err
}

// openTables has MySQL open every table: of one that it has forgotten information_schema tells the
// number that was given last for the next one.
func (l *looker) openTables() {
	list := l.ask("SELECT table_name FROM information_schema.tables WHERE table_type='BASE TABLE' AND table_schema='" + l.database + "'")
	for _, row := range list.rows {
		if len(row) == 1 {
			l.ask("SHOW CREATE TABLE `" + l.database + "`.`" + strings.ReplaceAll(row[0], "`", "``") + "`")
		}
	}
}

// findCatalogues finds out which of catalogue the server has.
func (in *instance) findCatalogues(ctx context.Context) error {
	for name := range catalogue {
		var n int
		if err := in.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='information_schema' AND table_name='"+name+"'").Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			in.catalogues = append(in.catalogues, name)
		}
	}
	return nil
}

// looker makes one picture.
type looker struct {
	ctx      context.Context
	conn     *sql.Conn
	database string
	picture  picture
	blind    blind
	mysql    bool
	err      error // the first that is not an answer about the database
	// refusals are the questions that the server did not answer. Of a template there are none.
	refusals []string
}

// answer is what came back: names of columns, and rows; or what the server said instead.
type answer struct {
	names []string
	rows  [][]string
}

// ask asks a question. An error of the server is an answer as well, in one row.
func (l *looker) ask(query string) answer {
	rows, err := l.conn.QueryContext(l.ctx, query)
	if err != nil {
		return l.refused(query, err)
	}
	defer rows.Close()
	var a answer
	a.names, _ = rows.Columns() // of rows that are open
	values, places := make([]sql.RawBytes, len(a.names)), make([]any, len(a.names))
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
		a.rows = append(a.rows, row)
	}
	if err := rows.Err(); err != nil {
		return l.refused(query, err)
	}
	return a
}

func (l *looker) refused(query string, err error) answer {
	l.refusals = append(l.refusals, fmt.Sprintf("%s: %v", query, err))
	if n := number(err); n == 0 && l.err == nil {
		l.err = err
	}
	return answer{names: []string{"error"}, rows: [][]string{{l.anonymous(err.Error())}}}
}

// anonymous leaves the database's name out.
func (l *looker) anonymous(text string) string { return strings.ReplaceAll(text, l.database, "DB") }

// question adds the answer of a question, line by line, but for columns that change.
func (l *looker) question(of, query string) {
	a := l.ask(query)
	for _, row := range a.rows {
		var fields []string
		for i, v := range row {
			if !changing.MatchString(a.names[i]) {
				fields = append(fields, a.names[i]+"="+l.anonymous(v))
			}
		}
		l.add(of, strings.Join(fields, " "))
	}
}

func (l *looker) add(of, line string) {
	if of != "" {
		l.picture[of] += line + "\n"
	}
}

// catalogue adds a table of information_schema, by the name of what its rows are about.
func (l *looker) catalogue(name, column string) {
	a := l.ask("SELECT * FROM information_schema." + name + " WHERE " + column + " = '" + l.database + "'")
	var lines []string
	for _, row := range a.rows {
		var fields []string
		for i, v := range row {
			switch {
			case a.names[i] == "AUTO_INCREMENT" && name == "TABLES" && !l.blind.counters:
				l.add("counter", row[slices.Index(a.names, "TABLE_NAME")]+" "+v)
			case !changing.MatchString(a.names[i]) && v != "NULL":
				fields = append(fields, a.names[i]+"="+l.anonymous(written.ReplaceAllString(v, "")))
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
func (l *looker) programs() {
	l.question("database", "SHOW CREATE DATABASE "+quote(l.database))
	for _, kind := range [][2]string{
		{"TRIGGER", "SELECT trigger_name, 'TRIGGER' FROM information_schema.triggers WHERE trigger_schema='%s'"},
		{"ROUTINE", "SELECT specific_name, routine_type FROM information_schema.routines WHERE routine_schema='%s' AND routine_type IN ('PROCEDURE','FUNCTION')"},
		{"EVENT", "SELECT event_name, 'EVENT' FROM information_schema.events WHERE event_schema='%s'"},
	} {
		for _, row := range l.ask(fmt.Sprintf(kind[1], l.database)).rows {
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
