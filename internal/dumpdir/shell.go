package dumpdir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// MySQL Shell's util.dumpInstance, dumpSchemas and dumpTables write:
//
//	@.json                      about the dump; @.done.json says that it has ended
//	@.sql, @.post.sql           statements before and behind everything; @.users.sql accounts
//	SCHEMA.json, SCHEMA.sql     a schema, its routines and events
//	SCHEMA@TABLE.json, .sql     a table, and how its rows were written
//	SCHEMA@TABLE@N.tsv.zst      rows, the last file as SCHEMA@TABLE@@N.tsv.zst; .idx beside each
//	SCHEMA@TABLE@PART@N.tsv.zst those of a partition
//	SCHEMA@TABLE.triggers.sql
//	SCHEMA@VIEW.sql, .pre.sql   a view, and the table that stands in for it at first
//
// The JSON files say which basename stands for which name.
type shellDir struct {
	*dir
	dump                                 Dump
	about                                shellAbout
	done                                 shellDone
	tables, stand, rows, triggers, views []dump.Part
}

type shellAbout struct {
	Schemas              []string          `json:"schemas"`
	Basenames            map[string]string `json:"basenames"`
	Users                []string          `json:"users"`
	Charset              string            `json:"defaultCharacterSet"`
	UTC                  bool              `json:"tzUtc"`
	CompatibilityOptions []string          `json:"compatibilityOptions"`
	// TableOnly says that the first versions of util.dumpTables wrote it, without SQL of the schema.
	TableOnly bool `json:"tableOnly"`
	// Server is the version of the server.
	Server string `json:"serverVersion"`
}

type shellDone struct {
	End   string                      `json:"end"` // in local time
	Rows  map[string]map[string]int64 `json:"tableRows"`
	Bytes map[string]int64            `json:"chunkFileBytes"`
}

type shellSchema struct {
	DDL       *bool             `json:"includesDdl"`
	ViewsDDL  *bool             `json:"includesViewsDdl"`
	Data      *bool             `json:"includesData"`
	Tables    []string          `json:"tables"`
	Views     []string          `json:"views"`
	Basenames map[string]string `json:"basenames"`
}

type shellTable struct {
	DDL       *bool             `json:"includesDdl"`
	Data      *bool             `json:"includesData"`
	Extension string            `json:"extension"`
	Chunked   bool              `json:"chunking"`
	Triggers  []string          `json:"triggers"`
	Basenames map[string]string `json:"basenames"`
	Options   struct {
		Columns    []string          `json:"columns"`
		Decode     map[string]string `json:"decodeColumns"`
		Charset    string            `json:"defaultCharacterSet"`
		Fields     *string           `json:"fieldsTerminatedBy"`
		Enclosed   string            `json:"fieldsEnclosedBy"`
		Optionally bool              `json:"fieldsOptionallyEnclosed"`
		Escaped    *string           `json:"fieldsEscapedBy"`
		Lines      *string           `json:"linesTerminatedBy"`
	} `json:"options"`
}

func shell(d *dir) (*Dump, error) {
	if !d.has("@.json") {
		return nil, nil
	}
	s := &shellDir{dir: d}
	s.dump.Maker = "MySQL Shell"
	if err := s.json("@.json", &s.about); err != nil {
		return nil, err
	}
	if !d.has("@.done.json") {
		return nil, d.fault("@.done.json", "wait for mysqlsh to end, or dump again", "the dump has not ended: the file is not there")
	}
	if err := s.json("@.done.json", &s.done); err != nil {
		return nil, err
	}
	s.dump.Server, s.dump.Finished = s.about.Server, localTime(s.done.End)
	for _, name := range sorted(s.done.Bytes) {
		if !d.has(name) {
			return nil, d.fault(name, again, "the file is not there, which @.done.json names")
		}
	}
	for _, schema := range s.about.Schemas {
		if err := s.schema(schema); err != nil {
			return nil, err
		}
	}
	if len(s.about.Users) > 0 {
		s.dump.Notes = append(s.dump.Notes, fmt.Sprintf("the %d accounts in @.users.sql are left out, as util.loadDump leaves them; ramaria sql NAME <@.users.sql makes them", len(s.about.Users)))
	}
	begin, end := s.whole("@.sql"), s.whole("@.post.sql")
	s.dump.Parts = slices.Concat(begin, s.tables, s.stand, s.rows, s.triggers, s.views, end)
	return &s.dump, nil
}

// whole returns the part of a file of the whole dump, if it is there.
func (s *shellDir) whole(name string) []dump.Part {
	if !s.has(name) {
		return nil
	}
	return []dump.Part{s.script(name, "")}
}

// json reads a file of that kind.
func (s *shellDir) json(name string, into any) error {
	text, err := s.text(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return s.fault(name, again, "the file cannot be read: %v", err)
	}
	return nil
}

// settings are those that util.loadDump gives its sessions.
func (s *shellDir) settings(charset string) []string {
	list := []string{"SET NAMES " + quote(charset), "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'", "SET foreign_key_checks = 0", "SET unique_checks = 0"}
	if s.about.UTC {
		list = append(list, "SET time_zone = '+00:00'")
	}
	if slices.Contains(s.about.CompatibilityOptions, "create_invisible_pks") {
		list = append(list, "SET sql_generate_invisible_primary_key = ON")
	}
	return list
}

func (s *shellDir) script(name, database string) dump.Part {
	p := s.statements(name, database, s.settings("utf8mb4"))
	p.Binary = true
	return p
}

// base returns the beginning of the names of files.
func base(names map[string]string, name, otherwise string) string {
	if b := names[name]; b != "" {
		return b
	}
	return otherwise
}

// is reads what is said of a dump: true if nothing is.
func is(said *bool) bool { return said == nil || *said }

// schema adds a schema.
func (s *shellDir) schema(name string) error {
	b := base(s.about.Basenames, name, encodeName(name))
	var schema shellSchema
	if err := s.json(b+".json", &schema); err != nil {
		return err
	}
	s.dump.Databases = append(s.dump.Databases, name)
	s.tables = append(s.tables, s.made(b+".sql", "", "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(name)+";\n"))
	if s.has(b + ".sql") {
		p := s.script(b+".sql", "")
		s.tables[len(s.tables)-1] = p
	} else if is(schema.DDL) && !s.about.TableOnly {
		return s.fault(b+".sql", again, "the file is not there, which makes the schema")
	}
	for _, table := range schema.Tables {
		if err := s.table(name, table, base(schema.Basenames, table, b+"@"+encodeName(table))); err != nil {
			return err
		}
	}
	var views []view
	for _, v := range schema.Views {
		if schema.ViewsDDL != nil && !*schema.ViewsDDL || schema.ViewsDDL == nil && !is(schema.DDL) {
			break
		}
		b := base(schema.Basenames, v, b+"@"+encodeName(v))
		if s.has(b + ".pre.sql") {
			s.stand = append(s.stand, s.script(b+".pre.sql", name))
		}
		text, err := s.text(b + ".sql")
		if err != nil {
			return err
		}
		views = append(views, view{v, text, s.script(b+".sql", name)})
	}
	s.views = append(s.views, inOrder(views)...)
	return nil
}

// table adds a table, and its rows.
func (s *shellDir) table(schema, name, b string) error {
	var t shellTable
	if !s.has(b + ".json") {
		return s.fault(b+".json", again, "the file is not there, which tells of table %s", name)
	}
	if err := s.json(b+".json", &t); err != nil {
		return err
	}
	if is(t.DDL) {
		if !s.has(b + ".sql") {
			return s.fault(b+".sql", again, "the file is not there, which makes table %s", name)
		}
		s.tables = append(s.tables, s.script(b+".sql", schema))
	}
	if s.has(b + ".triggers.sql") {
		s.triggers = append(s.triggers, s.script(b+".triggers.sql", schema))
	} else if len(t.Triggers) > 0 {
		return s.fault(b+".triggers.sql", again, "the file is not there, which makes the triggers of table %s", name)
	}
	if !is(t.Data) {
		return nil
	}
	if rows, ok := s.done.Rows[schema][name]; ok {
		s.dump.Counts = append(s.dump.Counts, dump.Count{Database: schema, Table: name, Rows: rows, File: s.show("@.done.json")})
	}
	return s.rowsOf(schema, name, b, &t)
}

// rowsOf adds the files with rows of a table.
func (s *shellDir) rowsOf(schema, name, b string, t *shellTable) error {
	if t.Extension == "" {
		t.Extension = "tsv"
	}
	f, err := s.format(b, name, t)
	if err != nil {
		return err
	}
	var files []string
	bases := []string{b}
	if len(t.Basenames) > 0 {
		bases = nil
		for _, part := range sorted(t.Basenames) {
			bases = append(bases, t.Basenames[part])
		}
	}
	for _, b := range bases {
		found, err := s.chunks(b, t)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	charset := t.Options.Charset
	if charset == "" {
		charset = s.about.Charset
	}
	for i, file := range files {
		rows := f
		rows.More = i+1 < len(files)
		rows.Bytes = -1
		if n, ok := s.done.Bytes[file]; ok {
			rows.Bytes = n
		}
		s.rows = append(s.rows, s.dir.rows(file, schema, s.settings(charset), rows))
	}
	return nil
}

// chunks returns the files of rows, in order. The last one is named as such.
func (s *shellDir) chunks(b string, t *shellTable) ([]string, error) {
	whole := b + "." + t.Extension
	if !t.Chunked || s.has(whole) { // older versions have it so for an empty table
		if !s.has(whole) {
			return nil, s.fault(whole, again, "the file is not there, which has rows")
		}
		return []string{whole}, nil
	}
	var files []string
	for n := 0; ; n++ {
		name, last := fmt.Sprintf("%s@%d.%s", b, n, t.Extension), fmt.Sprintf("%s@@%d.%s", b, n, t.Extension)
		switch {
		case s.has(last):
			return append(files, last), nil
		case s.has(name):
			files = append(files, name)
		default:
			return nil, s.fault(name, again, "the file is not there, nor the last one of these rows (%s@@N.%s)", b, t.Extension)
		}
	}
}

// format returns how LOAD DATA reads the rows of a table.
func (s *shellDir) format(b, name string, t *shellTable) (dump.RowFile, error) {
	o := &t.Options
	or := func(p *string, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return *p
	}
	f := dump.RowFile{Table: name, Lines: dump.LineFormat{Lines: or(o.Lines, "\n"), Fields: or(o.Fields, "\t")}}
	if f.Lines.Lines == "" || f.Lines.Fields == "" {
		return f, s.fault(b+".json", again, "its rows have fields of a fixed size, which is not read here")
	}
	escaped := or(o.Escaped, `\`)
	if escaped != "" {
		f.Lines.Escaped = escaped[0]
	}
	charset := o.Charset
	if charset == "" {
		charset = s.about.Charset
	}
	f.Options = "FIELDS TERMINATED BY " + quote(f.Lines.Fields)
	if charset != "" {
		f.Options = "CHARACTER SET " + quote(charset) + " " + f.Options
	}
	if o.Enclosed != "" {
		f.Lines.Enclosed = o.Enclosed[0]
		word := " ENCLOSED BY "
		if o.Optionally {
			word = " OPTIONALLY" + word
		}
		f.Options += word + quote(o.Enclosed)
	}
	f.Options += " ESCAPED BY " + quote(escaped) + " LINES TERMINATED BY " + quote(f.Lines.Lines)
	columns, err := s.columns(b, t)
	f.Columns = columns
	return f, err
}

// columns returns the list of columns, and how those are decoded that are written as text.
func (s *shellDir) columns(b string, t *shellTable) (string, error) {
	if len(t.Options.Columns) == 0 {
		return "", nil
	}
	var list, set []string
	for _, c := range t.Options.Columns {
		name := dbconn.QuoteName(c)
		switch how := strings.ToUpper(t.Options.Decode[c]); how {
		case "":
			list = append(list, name)
		case "UNHEX", "FROM_BASE64":
			list = append(list, "@"+name)
			set = append(set, name+" = "+how+"(@"+name+")")
		default:
			return "", s.fault(b+".json", again, "column %s is to be decoded by %s, which is not known here", c, how)
		}
	}
	text := "(" + strings.Join(list, ", ") + ")"
	if set != nil {
		text += " SET " + strings.Join(set, ", ")
	}
	return text, nil
}

// encodeName returns a name as it stands in those of files.
func encodeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.' || c == '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
