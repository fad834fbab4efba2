package dumpdir

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// mydumperMeta is what mydumper says of a dump.
type mydumperMeta struct {
	// mode is the sql_mode for loading it, empty if nothing is said of it.
	mode string
	rows map[string]tableRows // by section
	// counts says that the metadata count rows.
	counts bool
}

type tableRows struct {
	table string
	rows  int64
}

var finished = regexp.MustCompile(`(?m)^(?:# )?Finished dump at: *(.*?) *$`)

// modesOnlyThere are those that a newer server does not know, and that change nothing of a load.
var modesOnlyThere = []string{"NO_AUTO_CREATE_USER", "NO_FIELD_OPTIONS", "NO_KEY_OPTIONS", "NO_TABLE_OPTIONS"}

// metadata reads the file of that name. A dump that was broken off has another, or one without an end.
func (m *mydumperDir) metadata() error {
	const hint = "wait for mydumper to end, or dump again"
	if !m.has("metadata") {
		return m.fault("metadata", hint, "the dump has not ended: there is only metadata.partial, or metadata.header")
	}
	if m.has("metadata.partial") {
		return m.fault("metadata.partial", hint, "the dump has not ended, or another one was begun in this directory")
	}
	text, err := m.text("metadata")
	if err != nil {
		return err
	}
	end := finished.FindSubmatch(text)
	if end == nil {
		return m.fault("metadata", hint, "the dump has not ended: the line \"Finished dump at\" is missing")
	}
	m.dump.Finished = localTime(string(end[1]))
	m.meta = mydumperMeta{rows: map[string]tableRows{}}
	section := ""
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		m.metaLine(section, strings.TrimSpace(key), strings.TrimSpace(value))
	}
	return nil
}

func (m *mydumperDir) metaLine(section, key, value string) {
	t := m.meta.rows[section]
	switch {
	case section == "myloader_session_variables" && strings.EqualFold(key, "SQL_MODE"):
		value, _, _ = strings.Cut(value, "/*")
		value = strings.Trim(strings.TrimSpace(value), `'"`)
		modes := slices.DeleteFunc(strings.Split(value, ","), func(mode string) bool {
			return mode == "" || slices.Contains(modesOnlyThere, strings.ToUpper(mode))
		})
		m.meta.mode = strings.Join(modes, ",")
	case key == "real_table_name":
		t.table = value
		m.meta.rows[section] = t
	case key == "rows" && section != "":
		n, err := strconv.ParseInt(value, 10, 64)
		if err == nil {
			t.rows, m.meta.counts = n, true
			m.meta.rows[section] = t
		}
	}
}

// counts adds what the metadata say of rows: in sections `DB`.`TABLE`, with names as in those of files.
func (m *mydumperDir) counts() error {
	for _, section := range sorted(m.meta.rows) {
		t := m.meta.rows[section]
		if t.rows == 0 || len(section) < 2 {
			continue
		}
		q := section[:1]
		db, table, ok := strings.Cut(strings.Trim(section, q), q+"."+q)
		if !ok || m.databases[db] == "" {
			continue
		}
		if t.table != "" {
			table = t.table
		}
		m.dump.Counts = append(m.dump.Counts, dump.Count{Database: m.databases[db], Table: table, Rows: t.rows, File: m.show("metadata")})
	}
	return nil
}
