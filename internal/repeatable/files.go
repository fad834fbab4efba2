package repeatable

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Files finds out by the files of tables what the text of a statement leaves open.
type Files struct {
	// Dir is the data directory of the server that ran the statement.
	Dir string
	// Lenient has a table count for nothing that has no files any more. Without it a table is there as long as the statement
	// waits, and one that is not there may have been anything.
	Lenient bool
	// Folds says that the server keeps names in lower case, and takes them in any (lower_case_table_names=1). Without it t
	// and T are two tables.
	Folds bool
}

// same reports whether the file of a table, or the directory of a database, of that name is that of a statement's.
func (f Files) same(name, text string) bool {
	return name == text || f.Folds && strings.EqualFold(name, text)
}

// Settle looks at the files of the tables that a verdict names. The event is that of the statement.
func (f Files) Settle(v *Verdict, e *binlog.Event) {
	if len(v.UTF8) > 0 && !slices.ContainsFunc(v.UTF8, func(t Table) bool { return !UTF8MB3(f.Definition(t)) && !f.gone(t) }) {
		v.Kind, v.Fence = "", ""
	}
	for _, t := range v.Tables {
		if v.Fence == "" && !f.isInnoDB(t) && !f.gone(t) {
			v.Kind, v.Fence = "engine", fmt.Sprintf("table %s.%s was made without naming its engine, and has another one than InnoDB", t.Schema, t.Name)
		}
	}
	for _, t := range v.Made {
		if v.Fence != "" {
			return
		}
		definition, text := f.Definition(t), bytes.ToUpper(e.Body)
		for _, option := range Options {
			if bytes.Contains(definition, []byte(option)) && !bytes.Contains(text, []byte(option)) {
				v.Kind, v.Fence = "option", fmt.Sprintf("table %s.%s has the option %s, which a setting of the session gave it", t.Schema, t.Name, option)
			}
		}
	}
	for _, t := range v.Copied {
		if v.Fence == "" && f.newSince(t, time.Unix(int64(e.Timestamp), 0).Add(-clockStep)) && !f.gone(t) {
			v.Kind, v.Fence = "algorithm", fmt.Sprintf("table %s.%s was copied to drop a partition: another one may have taken its rows", t.Schema, t.Name)
		}
	}
	f.settleSession(v, e)
}

// settleSession looks at what a session of MariaDB may have done by a setting, or to a temporary table.
func (f Files) settleSession(v *Verdict, e *binlog.Event) {
	for _, t := range v.Dated {
		if v.Fence == "" && f.newSince(t, time.Unix(int64(e.Timestamp), 0).Add(-clockStep)) && !f.gone(t) {
			v.Kind, v.Fence = "now", fmt.Sprintf("table %s.%s was copied to make a column a date: a TIME becomes what the session's old_mode says", t.Schema, t.Name)
		}
	}
	if f.Lenient {
		return
	}
	for i, r := range v.Renamed {
		is := func(t Table, end int) bool {
			return slices.ContainsFunc(v.Renamed, func(o [2]Table) bool { return o[end] == t })
		}
		if v.Fence == "" && (f.there(r[0]) && !is(r[0], 1) || !f.there(r[1]) && !is(r[1], 0)) {
			v.Kind, v.Fence = "temporary", fmt.Sprintf("%s.%s may have been a temporary table when it was renamed", v.Renamed[i][0].Schema, v.Renamed[i][0].Name)
		}
	}
}

// clockStep is by how much the clock of files may be behind that of statements.
const clockStep = time.Second

// newSince reports whether a file of a table was made since a time, or may have been.
func (f Files) newSince(t Table, since time.Time) bool {
	found := false
	isNew := f.anyFile(t, ".ibd", func(file *os.File) bool {
		found = true
		born, err := sys.Born(file)
		return err != nil || !born.Before(since)
	})
	return isNew || !found
}

// gone reports whether a table has no files and need not have any.
func (f Files) gone(t Table) bool {
	return f.Lenient && !f.there(t)
}

// there reports whether a table, or a view of MariaDB, has files.
func (f Files) there(t Table) bool {
	dir, err := f.schemaDir(t.Schema)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Names()
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return f.same(tableOf(name), t.Name) })
}

// tableOf is the table that a file belongs to. MySQL writes the definition of a table of another engine than InnoDB to a
// file with a number.
func tableOf(name string) string {
	stem, ext, _ := strings.Cut(name, ".")
	stem, _, _ = strings.Cut(stem, "#") // a partition
	if at := strings.LastIndexByte(stem, '_'); ext == "sdi" && at > 0 {
		stem = stem[:at]
	}
	return datafiles.Decode(stem)
}

// isInnoDB reports whether the files of a table are those of InnoDB.
func (f Files) isInnoDB(t Table) bool {
	return f.anyFile(t, ".ibd", func(*os.File) bool { return true })
}

// mostDefinition bounds the .frm file of a table, in bytes: servers have a limit of 64 KB for most of what is in it.
const mostDefinition = 1 << 20

// Definition is what the .frm file of a table holds, nil where there is none.
func (f Files) Definition(t Table) (b []byte) {
	f.anyFile(t, ".frm", func(file *os.File) bool {
		b, _ = io.ReadAll(io.LimitReader(file, mostDefinition)) // what lacks its end lifts no fence
		return true
	})
	return b
}

// anyFile opens the file of a table, or those of its partitions, up to the first that is as asked for, and reports whether
// there is one.
func (f Files) anyFile(t Table, ext string, is func(*os.File) bool) bool {
	dir, err := f.schemaDir(t.Schema)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	open := func(name string) bool {
		file, err := dir.Open(name, os.O_RDONLY)
		if err != nil {
			return false
		}
		defer file.Close()
		return is(file)
	}
	if asNamed(t.Name) && open(t.Name+ext) {
		return true
	}
	names, err := dir.Names()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		stem, ok := strings.CutSuffix(name, ext)
		if !ok {
			return false
		}
		stem, _, _ = strings.Cut(stem, "#") // a partition
		return f.same(datafiles.Decode(stem), t.Name) && open(name)
	})
}

// schemaDir opens the directory of a database.
func (f Files) schemaDir(schema string) (_ *sys.Dir, err error) {
	data, err := sys.OpenDir(f.Dir)
	if err != nil {
		return nil, err
	}
	defer data.CloseWith(&err)
	if asNamed(schema) && !f.Folds {
		return data.Dir(schema)
	}
	names, err := data.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if f.same(datafiles.Decode(name), schema) {
			return data.Dir(name)
		}
	}
	return nil, fs.ErrNotExist
}

// asNamed reports whether a file is named as the identifier is.
func asNamed(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
