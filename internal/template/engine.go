package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ownRows are the engines whose tables have rows of their own, in files in the data directory, or
// have none (BLACKHOLE). Of others the rows are those of other tables (MRG_MyISAM, SPIDER, FEDERATED),
// or lie outside of the server (CONNECT, S3): what a clone writes the template would get.
var ownRows = []string{"InnoDB", "MyISAM", "Aria", "MEMORY", "ARCHIVE", "CSV", "BLACKHOLE", "ROCKSDB"}

// placed is what a table says whose files, or those of a partition, lie elsewhere.
var placed = regexp.MustCompile(`(DATA|INDEX) DIRECTORY ?=`)

// checkPlace returns an error, which is ErrUnclonable, if a table's rows are not in files of its own
// in the directory of its database: a clone of it would write to the same.
func (t *Table) checkPlace() error {
	if t.Kind == Sequence {
		return nil
	}
	if !slices.ContainsFunc(ownRows, func(e string) bool { return strings.EqualFold(e, t.Engine) }) {
		return fmt.Errorf("%w: table %s: its engine %s may keep its rows in other tables, or outside of the server, and clones would share them\n"+
			"hint: leave the table out, or ALTER TABLE %[2]s ENGINE=InnoDB; clones are made of %s", ErrUnclonable, t.Name, t.Engine, strings.Join(ownRows, ", "))
	}
	// It takes a row for a duplicate whose number is not above the counter, which the definition sets.
	if strings.EqualFold(t.Engine, "ARCHIVE") && slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Counts }) {
		return fmt.Errorf("%w: table %s: its engine ARCHIVE lets nobody insert rows below its AUTO_INCREMENT, so no clone of it could be filled, or put back\n"+
			"hint: leave the table out, or ALTER TABLE %[2]s ENGINE=InnoDB", ErrUnclonable, t.Name)
	}
	if word := placed.FindStringSubmatch(withoutQuoted(t.Create)); word != nil {
		return fmt.Errorf("%w: table %s: %s DIRECTORY has its files lie outside of its database, and clones would share them\n"+
			"hint: leave that option out of CREATE TABLE", ErrUnclonable, t.Name, word[1])
	}
	return nil
}

// withoutQuoted is a table's definition without names, texts and comments of its owner's.
func withoutQuoted(create string) string {
	var b strings.Builder
	for create != "" {
		i := strings.IndexAny(create, "'`")
		if i < 0 {
			break
		}
		b.WriteString(create[:i])
		create = create[i+quoted(create[i:]):]
	}
	b.WriteString(create)
	return b.String()
}
