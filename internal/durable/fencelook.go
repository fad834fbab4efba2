package durable

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// late reports whether an event is a statement that no base has while it waits: waiting for one would be in vain.
func (f *fences) late(e *binlog.Event) bool {
	if e.Type != binlog.QueryEvent {
		return false
	}
	q, err := binlog.ParseQuery(e)
	return err == nil && endsLate(f.server, q.SQL)
}

// look finds out by the files of tables what the text of a statement leaves open.
func (f *fences) look(e *binlog.Event, v *repeatable.Verdict) {
	if len(v.UTF8) > 0 && !slices.ContainsFunc(v.UTF8, func(t repeatable.Table) bool { return !repeatable.UTF8MB3(f.definition(t)) }) {
		v.Kind, v.Fence = "", ""
	}
	for _, t := range v.Tables {
		if v.Fence == "" && !f.isInnoDB(t) {
			v.Kind, v.Fence = "engine", fmt.Sprintf("table %s.%s was made without naming its engine, and has another one than InnoDB", t.Schema, t.Name)
		}
	}
	for _, t := range v.Made {
		if v.Fence != "" {
			return
		}
		definition, text := f.definition(t), bytes.ToUpper(e.Body)
		for _, option := range repeatable.Options {
			if bytes.Contains(definition, []byte(option)) && !bytes.Contains(text, []byte(option)) {
				v.Kind, v.Fence = "option", fmt.Sprintf("table %s.%s has the option %s, which a setting of the session gave it", t.Schema, t.Name, option)
			}
		}
	}
}

// isInnoDB reports whether the files of a table are those of InnoDB. The statement that made it waits meanwhile, so
// that they are there; where it does not, and they are not there any more, nobody can tell.
func (f *fences) isInnoDB(t repeatable.Table) bool { return f.fileOf(t, ".ibd", nil) }

// mostDefinition bounds the .frm file of a table, in bytes: servers have a limit of 64 KB for most of what is in it.
const mostDefinition = 1 << 20

// definition is what the .frm file of a table holds, nil where there is none.
func (f *fences) definition(t repeatable.Table) (b []byte) {
	f.fileOf(t, ".frm", func(file *os.File) {
		b, _ = io.ReadAll(io.LimitReader(file, mostDefinition)) // what lacks its end lifts no fence
	})
	return b
}

// fileOf opens the file of a table, or that of one of its partitions, and reports whether there is one.
func (f *fences) fileOf(t repeatable.Table, ext string, read func(*os.File)) bool {
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
		if read != nil {
			read(file)
		}
		return true
	}
	if plain(t.Name) && open(t.Name+ext) {
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
		return strings.EqualFold(datafiles.Decode(stem), t.Name) && open(name)
	})
}

// schemaDir opens the directory of a database.
func (f *fences) schemaDir(schema string) (_ *sys.Dir, err error) {
	data, err := sys.OpenDir(f.dir)
	if err != nil {
		return nil, err
	}
	defer data.CloseWith(&err)
	if plain(schema) {
		return data.Dir(schema)
	}
	names, err := data.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.EqualFold(datafiles.Decode(name), schema) {
			return data.Dir(name)
		}
	}
	return nil, fs.ErrNotExist
}

// plain reports whether a file is named as the identifier is.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
