package parts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The files of a dump sort in the order in which they load: by the first character of their names.
const (
	schemaFirst = "0"
	rowsNext    = "1"
	restLast    = "9"
)

// longestStem is how much of the name of a table stands in that of its files, in bytes: a file's may have 255.
const longestStem = 180

// stem is what of the name of a table can stand in that of a file, on any system and unquoted in a shell. Two names
// may give the same.
func stem(name string) string {
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' || r == utf8.RuneError {
			r = '_'
		}
		if b.Len()+utf8.RuneLen(r) > longestStem {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Name gives the files of a table their name. Two tables may differ by letters that no file's name has, or by capitals;
// named in the same order they get the same names. database is in the name, if it is not "".
func (d *Dir) Name(database, table string) {
	d.lock.Lock()
	defer d.lock.Unlock()
	whole := stem(table)
	if database != "" {
		whole = stem(database) + "." + whole
	}
	free := whole
	for n := 2; d.taken[strings.ToLower(free)]; n++ {
		free = fmt.Sprintf("%s~%d", whole, n)
	}
	d.taken[strings.ToLower(free)] = true
	d.stems[tableName{database, table}] = free
}

type tableName struct{ database, table string }

// stemOf is what the names of a table's files begin with; "" for a table that was not named.
func (d *Dir) stemOf(database, table string) string {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.stems[tableName{database, table}]
}
