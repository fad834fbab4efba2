package dumpdir

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// mydumper's files mean something by their names, of which the first part is the database:
//
//	metadata                        about the dump; an ini file since 0.12
//	DB-schema-create.sql            CREATE DATABASE
//	DB.TABLE-schema.sql             a table, or the table that stands in for a view at first
//	DB.TABLE-schema-sequence.sql    a sequence
//	DB.TABLE[.N[.N]].sql            rows, as INSERT or as LOAD DATA of a .dat file beside it
//	DB.VIEW-schema-view.sql         a view
//	DB[.TABLE]-schema-triggers.sql  triggers
//	DB-schema-post.sql              routines and events
//
// A name that does not suit a file is mydumper_N there; its statements have the real one.
type mydumperDir struct {
	*dir
	dump Dump
	meta mydumperMeta
	// kinds are the files of each kind, by what stands before its ending.
	kinds map[string]map[string]string
	// databases are their real names, by those in names of files.
	databases map[string]string
	// used are row files that a statement names.
	used map[string]bool
}

// The endings of names, the longest first.
var mydumperKinds = []string{
	"-schema-create.sql", "-schema-sequence.sql", "-schema-triggers.sql", "-schema-view.sql", "-schema-post.sql", "-schema.sql", ".sql", ".dat",
}

const dataKind, rowKind = ".sql", ".dat"

func mydumper(d *dir) (*Dump, error) {
	m := &mydumperDir{dir: d, kinds: map[string]map[string]string{}, databases: map[string]string{}, used: map[string]bool{}}
	for _, k := range mydumperKinds {
		m.kinds[k] = map[string]string{}
	}
	for _, name := range d.names {
		for _, k := range mydumperKinds {
			if strings.Contains(name, "/") {
				break
			}
			if before, ok := strings.CutSuffix(bare(name), k); ok {
				m.kinds[k][before] = name
				break
			}
		}
	}
	partial := slices.ContainsFunc(d.names, func(name string) bool { return strings.HasPrefix(name, "metadata.") })
	if !partial && !d.has("metadata") || len(m.kinds["-schema.sql"])+len(m.kinds["-schema-create.sql"]) == 0 && !m.dataOnly() {
		return nil, nil
	}
	m.dump.Maker = "mydumper"
	for _, step := range []func() error{m.metadata, m.findDatabases, m.schema, m.data, m.late, m.counts} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &m.dump, nil
}

// dataOnly says that there is no schema, and yet the metadata are mydumper's.
func (m *mydumperDir) dataOnly() bool {
	if len(m.kinds[dataKind]) == 0 || !m.has("metadata") {
		return false
	}
	text, err := m.text("metadata")
	return err == nil && mydumperBegins.Match(text)
}

var mydumperBegins = regexp.MustCompile(`^(# )?Started dump at: `)

// findDatabases finds the real names of databases.
func (m *mydumperDir) findDatabases() error {
	for inFile, name := range m.kinds["-schema-create.sql"] {
		in, err := m.open(name, io.Discard)
		if err != nil {
			return err
		}
		head, err := dump.Peek(in, m.show(name))
		in.Close()
		if err != nil {
			return err
		}
		m.databases[inFile] = inFile
		if len(head.Databases) > 0 {
			m.databases[inFile] = head.Databases[0]
		}
	}
	for _, kind := range mydumperKinds[1:] {
		for before := range m.kinds[kind] {
			if db, _ := m.split(before); m.databases[db] == "" {
				if strings.HasPrefix(db, "mydumper_") {
					return m.fault(db+"-schema-create.sql", again, "the file is not there, which says what database %s is", db)
				}
				m.databases[db] = db
			}
		}
	}
	for _, inFile := range sorted(m.databases) {
		m.dump.Databases = append(m.dump.Databases, m.databases[inFile])
	}
	return nil
}

// split returns the database in the name of a file, and what follows it; "" if nothing does.
func (m *mydumperDir) split(before string) (db, rest string) {
	best := ""
	for inFile := range m.databases {
		if len(inFile) > len(best) && (before == inFile || strings.HasPrefix(before, inFile+".")) {
			best = inFile
		}
	}
	if best == "" {
		best, _, _ = strings.Cut(before, ".")
	}
	return best, strings.TrimPrefix(strings.TrimPrefix(before, best), ".")
}

// of returns the names of files of a kind that belong to a database, sorted.
func (m *mydumperDir) of(kind, inFile string) []string {
	var names []string
	for _, before := range sorted(m.kinds[kind]) {
		if db, _ := m.split(before); db == inFile {
			names = append(names, m.kinds[kind][before])
		}
	}
	return names
}

// settings are those that myloader gives its sessions for rows.
func (m *mydumperDir) settings() []string {
	return append(m.around(), "SET sql_mode = "+quote(strings.Trim(m.meta.mode+",NO_AUTO_VALUE_ON_ZERO", ",")))
}

// around are those for what is made around rows: before there was an sql_mode in the metadata, routines got
// that of the server.
func (m *mydumperDir) around() []string {
	list := []string{"SET NAMES binary", "SET foreign_key_checks = 0", "SET unique_checks = 0"}
	if m.meta.mode != "" {
		list = append(list, "SET sql_mode = "+quote(m.meta.mode))
	}
	return list
}

func (m *mydumperDir) part(name, inFile string, settings []string) dump.Part {
	p := m.statements(name, m.databases[inFile], settings)
	p.Binary = true
	return p
}

// schema adds what makes databases and tables.
func (m *mydumperDir) schema() error {
	for _, inFile := range sorted(m.databases) {
		if name, ok := m.kinds["-schema-create.sql"][inFile]; ok {
			p := m.part(name, inFile, m.around())
			p.Database = ""
			m.dump.Parts = append(m.dump.Parts, p)
		} else {
			m.dump.Parts = append(m.dump.Parts, m.made(inFile+"-schema-create.sql", "", "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(m.databases[inFile])+";\n"))
		}
		for _, kind := range []string{"-schema-sequence.sql", "-schema.sql"} {
			for _, name := range m.of(kind, inFile) {
				m.dump.Parts = append(m.dump.Parts, m.part(name, inFile, m.around()))
			}
		}
	}
	return nil
}

// late adds what is made when tables have their rows.
func (m *mydumperDir) late() error {
	for _, kind := range []string{"-schema-post.sql", "-schema-triggers.sql"} {
		for _, inFile := range sorted(m.databases) {
			for _, name := range m.of(kind, inFile) {
				m.dump.Parts = append(m.dump.Parts, m.byLines(name, inFile))
			}
		}
	}
	var views []view
	for _, inFile := range sorted(m.databases) {
		for _, name := range m.of("-schema-view.sql", inFile) {
			text, err := m.text(name)
			if err != nil {
				return err
			}
			_, own := m.split(strings.TrimSuffix(bare(name), "-schema-view.sql"))
			views = append(views, view{own, text, m.byLines(name, inFile)})
		}
	}
	m.dump.Parts = append(m.dump.Parts, inOrder(views)...)
	return nil
}

// byLines returns a part of a file whose statements end where a line ends in a semicolon, as myloader
// reads it: bodies of routines have no such line, but semicolons.
func (m *mydumperDir) byLines(name, inFile string) dump.Part {
	p := m.part(name, inFile, m.around())
	open := p.Open
	p.Open, p.Before = func() (io.ReadCloser, error) {
		in, err := open()
		if err != nil {
			return nil, err
		}
		defer in.Close()
		text, err := io.ReadAll(io.LimitReader(in, maxText+1))
		if err != nil {
			return nil, err
		}
		if len(text) > maxText {
			return nil, m.fault(name, again, "the file has more than %d MB, and should be a small one", maxText>>20)
		}
		text = noCharset.ReplaceAll(text, []byte("SET NAMES utf8mb4;\n;\n;\n"))
		text = bytes.ReplaceAll(text, []byte(";\n"), []byte(lineDelimiter+"\n"))
		return io.NopCloser(io.MultiReader(strings.NewReader("DELIMITER "+lineDelimiter+"\n"), bytes.NewReader(text))), nil
	}, 1
	return p
}

// noCharset matches what mydumper 0.10 writes of the routines of MySQL 8 and later, whose answer has other
// columns than it thinks: the collation is the character set, and that is missing.
var noCharset = regexp.MustCompile(`SET character_set_client = ;\nSET character_set_results = ;\nSET collation_connection = \w*;\n`)

// lineDelimiter stands for a semicolon that ends a line.
const lineDelimiter = ";;ramaria;;"

// dataFile is a file of rows, or of statements about them.
type dataFile struct {
	name, table string
	part, sub   int
}

// dataFiles returns those of a database, by table and number.
func (m *mydumperDir) dataFiles(inFile string) []dataFile {
	tables := map[string]bool{}
	for _, name := range m.of("-schema.sql", inFile) {
		_, table := m.split(strings.TrimSuffix(bare(name), "-schema.sql"))
		tables[table] = true
	}
	var files []dataFile
	for _, before := range sorted(m.kinds[dataKind]) {
		db, rest := m.split(before)
		if db != inFile || rest == "" {
			continue
		}
		f := dataFile{name: m.kinds[dataKind][before], table: rest, part: -1, sub: -1}
		var numbers []int
		for !tables[f.table] && len(numbers) < 2 {
			i := strings.LastIndexByte(f.table, '.')
			n, err := strconv.Atoi(f.table[i+1:])
			if i < 0 || err != nil {
				break
			}
			numbers, f.table = append(numbers, n), f.table[:i]
		}
		switch len(numbers) {
		case 2:
			f.part, f.sub = numbers[1], numbers[0]
		case 1:
			f.part, f.sub = numbers[0], 0
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b dataFile) int {
		return cmp.Or(strings.Compare(a.table, b.table), cmp.Compare(a.part, b.part), cmp.Compare(a.sub, b.sub))
	})
	return files
}

// data adds the files with rows.
func (m *mydumperDir) data() error {
	for _, inFile := range sorted(m.databases) {
		files := m.dataFiles(inFile)
		for i, f := range files {
			more := i+1 < len(files) && files[i+1].table == f.table
			if i > 0 && files[i-1].table == f.table && files[i-1].part == f.part && f.sub > files[i-1].sub+1 || f.sub > 0 && (i == 0 || files[i-1].table != f.table || files[i-1].part != f.part) {
				return m.fault(f.name, again, "the file that comes before it is missing")
			}
			before := strings.TrimSuffix(bare(f.name), dataKind)
			if _, ok := m.kinds[rowKind][before]; !ok {
				m.dump.Parts = append(m.dump.Parts, m.part(f.name, inFile, m.settings()))
				continue
			}
			if err := m.loadData(f.name, inFile, more); err != nil {
				return err
			}
		}
		m.gaps(files)
	}
	for _, name := range m.kinds[rowKind] {
		if !m.used[name] {
			return m.fault(name, again, "the file that says which table its rows are of is missing")
		}
	}
	return nil
}

// gaps notes numbers that are missing. Rows that are dumped by ranges of a key have none where there is
// no row; whether it was that, only newer metadata tell.
func (m *mydumperDir) gaps(files []dataFile) {
	numbers := map[string][]int{}
	for _, f := range files {
		numbers[f.table] = append(numbers[f.table], f.part)
	}
	for _, table := range sorted(numbers) {
		if n, ok := gap(numbers[table]); ok && !m.meta.counts {
			m.dump.Notes = append(m.dump.Notes, "table "+table+" has no file with the number "+strconv.Itoa(n)+"; that version of mydumper does not say whether there were rows for it")
		}
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
