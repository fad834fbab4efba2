package dumpdir

import (
	"bufio"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// tabSettings are those of the head of such a dump, for its rows.
var tabSettings = []string{
	"SET NAMES utf8mb4", inUTC, "SET foreign_key_checks = 0", "SET unique_checks = 0", "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
}

const (
	inUTC      = "SET time_zone = '+00:00'"
	localTimes = "TIMESTAMP values are read in the server's time zone: the files do not say that they are in UTC (mysqldump --skip-tz-utc)"
)

// tabOptions are those that the server writes such files by unless it is told otherwise; each column is
// in its own character set. https://mariadb.com/kb/en/mariadb-dump/
var tabFormat = dump.LineFormat{Lines: "\n", Fields: "\t", Escaped: '\\'}

const tabOptions = `CHARACTER SET binary FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`

// tab reads what mysqldump --tab and mariadb-dump --tab write: TABLE.sql, and its rows in TABLE.txt; and
// mariadb-dump --dir: a directory of that kind for each database.
func tab(d *dir) (*Dump, error) {
	databases := map[string][]string{} // names of .sql by directory
	rows := map[string]bool{}
	for _, name := range d.names {
		if before, ok := strings.CutSuffix(bare(name), ".sql"); ok {
			databases[path.Dir(name)] = append(databases[path.Dir(name)], name)
			if d.find(before+".txt") == "" {
				continue
			}
			made, err := look(d, name)
			if err != nil {
				return nil, err
			}
			rows[path.Dir(name)] = rows[path.Dir(name)] || made.tables == 1 && !made.rows // else a dump beside a text about it
		}
	}
	if len(rows) == 0 || !rows["."] && len(databases["."]) > 0 {
		return nil, nil
	}
	if rows["."] { // what lies deeper is none of it
		databases = map[string][]string{".": databases["."]}
	}
	t := tabDir{dir: d}
	t.dump.Maker = "mysqldump --tab"
	t.dump.Notes = []string{"rows in .txt files are read as mysqldump --tab writes them by default: fields end in a tab; the files do not say it. Routines and events are not in such a directory, but in what mysqldump wrote to its output: load that first"}
	for _, below := range sorted(databases) {
		if err := t.database(below, databases[below]); err != nil {
			return nil, err
		}
	}
	for _, name := range d.names {
		if before, ok := strings.CutSuffix(bare(name), ".txt"); ok && d.find(before+".sql") == "" && databases[path.Dir(name)] != nil {
			return nil, d.fault(name, "dump again, or move the file away if it is none of the dump", "the file %s.sql is missing, which makes its table", path.Base(before))
		}
	}
	t.dump.Parts = slices.Concat(t.tables, t.rows, t.triggers, inOrder(t.views))
	return &t.dump, nil
}

type tabDir struct {
	*dir
	dump                   Dump
	tables, rows, triggers []dump.Part
	views                  []view
}

// database adds the files of one database.
func (t *tabDir) database(below string, files []string) error {
	name := ""
	if below != "." {
		name = decodeName(below)
		t.dump.Databases = append(t.dump.Databases, name)
		t.tables = append(t.tables, t.made(below, "", "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(name)+";\n"))
	}
	for _, file := range files {
		if err := t.table(file, name); err != nil {
			return err
		}
	}
	return nil
}

// table adds what makes a table or a view, its rows, and its triggers.
func (t *tabDir) table(file, database string) error {
	made, err := look(t.dir, file)
	if err != nil {
		return err
	}
	// The files do not say it, and a table may come before the one that it refers to.
	p := t.statements(file, database, []string{"SET foreign_key_checks = 0"})
	rows := t.find(strings.TrimSuffix(bare(file), ".sql") + ".txt")
	if rows != "" && (made.tables != 1 || made.rows) {
		return t.fault(file, again+"; or move away what is none of the dump", "it does not make one table, whose rows would lie in %s", path.Base(rows))
	}
	if made.table == "" {
		text, err := t.text(file)
		if err != nil {
			return err
		}
		t.views = append(t.views, view{made.view, text, p})
		return nil
	}
	if made.triggers {
		late := p
		late.Pick = func(kind dump.StatementKind) bool { return kind == dump.StatementTrigger }
		t.triggers = append(t.triggers, late)
		p.Pick = func(kind dump.StatementKind) bool { return kind != dump.StatementTrigger }
	}
	t.tables = append(t.tables, p)
	if rows == "" && made.shape != nil && made.shape.InnoDB {
		txt := strings.TrimSuffix(bare(file), ".sql") + ".txt"
		return t.fault(txt, again+"; or, if its table was dumped without rows, make it: touch "+path.Base(txt), "the file is not there, and would have the rows of table %s", made.table)
	}
	if rows == "" {
		return nil
	}
	settings := tabSettings
	if !made.utc {
		settings = slices.DeleteFunc(slices.Clone(settings), func(text string) bool { return text == inUTC })
		if !slices.Contains(t.dump.Notes, localTimes) {
			t.dump.Notes = append(t.dump.Notes, localTimes)
		}
	}
	skip, err := t.header(rows, made.shape)
	if err != nil {
		return err
	}
	t.rows = append(t.rows, t.dir.rows(rows, database, settings, dump.RowFile{Table: made.table, Options: tabOptions, Lines: tabFormat, Skip: skip, Bytes: -1}))
	return nil
}

// tabMade is what a file of statements makes.
type tabMade struct {
	table, view string
	shape       *dump.Table
	triggers    bool
	tables      int  // how many it makes
	rows        bool // it has some itself; what stands behind them is not looked at
	utc         bool // its head says that times are
}

var setsZone = regexp.MustCompile(`(?i)\bSET\s+TIME_ZONE\s*=\s*'\+00:00'`)

var viewName = regexp.MustCompile("(?i)\\bVIEW\\s+`((?:[^`]|``)+)`\\s+AS\\b")

func look(d *dir, file string) (tabMade, error) {
	var made tabMade
	in, err := d.open(file, io.Discard)
	if err != nil {
		return made, err
	}
	defer in.Close()
	scanner := dump.NewScanner(in, d.show(file))
	scanner.ByRows()
	for {
		st, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return made, nil
		}
		if err != nil {
			return made, err
		}
		if st.Rows != nil {
			made.rows = true
			return made, nil
		}
		switch class := dump.Classify(st.Text, st.Delimiter); class.Kind {
		case dump.StatementCreateTable:
			made.tables++
			made.table = class.Table
			made.shape, _ = dump.ParseTable(st.Text)
		case dump.StatementTrigger:
			made.triggers = true
		default:
			if m := viewName.FindSubmatch(st.Text); m != nil {
				made.view = strings.ReplaceAll(string(m[1]), "``", "`")
			}
			made.utc = made.utc || setsZone.Match(st.Text)
		}
	}
}

// header returns 1 if the first line of a file of rows has the names of all columns: mariadb-dump --header.
func (t *tabDir) header(file string, shape *dump.Table) (int, error) {
	if shape == nil {
		return 0, nil
	}
	in, err := t.open(file, io.Discard)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(in, 1<<20), 64<<10).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	var names []string
	for _, c := range shape.Columns {
		names = append(names, c.Name)
	}
	if strings.TrimSuffix(line, "\n") == strings.Join(names, "\t") {
		return 1, nil
	}
	return 0, nil
}

var encodedByte = regexp.MustCompile(`@[0-9a-f]{4}`)

// decodeName returns the name that a server and its programs write to a file system in this way.
// https://mariadb.com/kb/en/identifier-to-file-name-mapping/
func decodeName(name string) string {
	return encodedByte.ReplaceAllStringFunc(name, func(code string) string {
		n, err := strconv.ParseUint(code[1:], 16, 32)
		if err != nil {
			return code
		}
		return string(rune(n))
	})
}
