package dumper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// table is a table, view or sequence of a database that is dumped.
type table struct {
	database, name, engine string
	kind                   tableKind
	// size is how large its rows are, about, in bytes.
	size int64
	// ignored is left out.
	ignored bool
}

// tableKind is what a table is to a dump.
type tableKind uint8

const (
	aTable tableKind = iota
	aVersioned
	aSequence
	aView
)

// look finds out what there is to dump, and says of which of it the dump has less than the server.
func (j *job) look(ctx context.Context) error {
	ignored := map[string]bool{}
	for _, name := range j.Ignore {
		if len(j.Databases) == 1 && !strings.HasPrefix(name, j.Databases[0]+".") {
			name = j.Databases[0] + "." + name
		}
		ignored[name] = false
	}
	const query = "SELECT table_schema, table_name, table_type, COALESCE(engine, ''), COALESCE(data_length, 0), @@lower_case_table_names FROM information_schema.tables WHERE table_type <> 'SYSTEM VIEW' ORDER BY table_schema, table_name"
	err := dbconn.Query(ctx, j.db, query, func(c []string) error {
		n := slices.IndexFunc(j.Databases, func(name string) bool { return name == c[0] || c[5] != "0" && strings.EqualFold(name, c[0]) })
		if n < 0 {
			return nil
		}
		t := table{database: j.Databases[n], name: c[1], engine: c[3]}
		if _, err := fmt.Sscan(c[4], &t.size); err != nil {
			return fmt.Errorf("dump instance %s: size of %s.%s: %w", j.Name, c[0], c[1], err)
		}
		switch c[2] {
		case "VIEW":
			t.kind = aView
		case "SEQUENCE":
			t.kind = aSequence
		case "SYSTEM VERSIONED":
			t.kind = aVersioned
		}
		full := t.database + "." + t.name
		if _, t.ignored = ignored[full]; t.ignored {
			ignored[full] = true
		}
		j.tables = append(j.tables, t)
		return nil
	})
	if err != nil {
		return err
	}
	for name, found := range ignored {
		if !found {
			return RefusedError{fmt.Errorf("dump instance %s: --ignore-table %s: there is no such table or view\nhint: ramaria sql %[1]s -e 'SHOW TABLES'", j.Name, name)}
		}
	}
	if err := j.spares(); err != nil {
		return err
	}
	for _, t := range j.tables {
		switch full := t.database + "." + t.name; {
		case t.ignored:
		case t.kind == aVersioned && !j.History:
			j.done.Past = append(j.done.Past, full)
		case t.kind == aTable && !slices.Contains(snapped, strings.ToLower(t.engine)):
			j.done.Unsnapped = append(j.done.Unsnapped, full)
		}
	}
	return nil
}

// snapped are the engines whose tables a transaction sees as they were at one moment, and those without rows of their own.
var snapped = []string{"innodb", "rocksdb", "tokudb", "blackhole", "mrg_myisam", "federated", "connect", "spider", ""}

// of is what is dumped of a database, of some kinds, in their order.
func (j *job) of(database string, kinds ...tableKind) (list []table) {
	for _, t := range j.tables {
		if t.database == database && !t.ignored && slices.Contains(kinds, t.kind) {
			list = append(list, t)
		}
	}
	return list
}

// alike reports whether tables of a database have names that a dumper may take for the same: MySQL's leaves out, of
// what it is to leave out, also what differs by capitals or accents.
func (j *job) alike(database string) bool {
	seen := map[string]bool{}
	for _, t := range j.tables {
		if t.database != database {
			continue
		}
		low := strings.ToLower(t.name)
		if seen[low] || strings.ContainsFunc(t.name, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return true
		}
		seen[low] = true
	}
	return false
}

// spares fails where a table would be left out that only differs in capitals from one that is to be.
func (j *job) spares() error {
	for _, t := range j.tables {
		for _, other := range j.tables {
			if t.ignored && !other.ignored && t.database == other.database && strings.EqualFold(t.name, other.name) {
				return RefusedError{fmt.Errorf("dump instance %s: --ignore-table %s: the dumper would leave out %s as well\nhint: leave out both, or none", j.Name, t.name, other.name)}
			}
		}
	}
	return nil
}
