package reset

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/template"
)

// What is written to a table of MyISAM through a temporary table of the engine MRG_MyISAM is in no log. It is in the
// table's file: a database that is right has all of these marked with a time in the past, which any write changes.

// rowsMark is the time that the files of rows of a watched database have, whose rows were right then, and its shape.
type rowsMark struct {
	at    int64
	shape *template.Shape
}

const (
	isam     = "MyISAM"
	isamRows = ".MYD"
	// isamAge is how far in the past the mark lies: much further than the steps in which file systems count time.
	isamAge = time.Second
)

// eachRowFile calls f for the files of rows of MyISAM in the directory of a database, if its template has such tables. It
// reports whether all were there to see.
func (j *Journal) eachRowFile(name string, shape *template.Shape, f func(dir *sys.Dir, file string)) bool {
	if len(isamTables(shape)) == 0 {
		return true
	}
	data, err := sys.OpenDir(j.dir)
	if err != nil {
		return false
	}
	defer func() { _ = data.Close() }()
	dir, err := directory(data, name)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Names()
	if err != nil {
		return false
	}
	for _, file := range names {
		if strings.HasSuffix(file, isamRows) {
			f(dir, file)
		}
	}
	return true
}

// directory opens that of a database, whose name may be written otherwise: a template may be called my-shop.
func directory(data *sys.Dir, name string) (*sys.Dir, error) {
	if dbconn.PlainName(name) {
		return data.Dir(name)
	}
	names, err := data.Names()
	if err != nil {
		return nil, err
	}
	for _, written := range names {
		if datafiles.Decode(written) == name {
			return data.Dir(written)
		}
	}
	return nil, fmt.Errorf("open the directory of database %s: %w", name, fs.ErrNotExist)
}

func isamTables(shape *template.Shape) (list []string) {
	for _, t := range shape.Tables {
		if strings.EqualFold(t.Engine, isam) {
			list = append(list, t.Name)
		}
	}
	return list
}

// MarkRows says that the rows of a watched database are right, or that what is not is known.
func (j *Journal) MarkRows(name string, shape *template.Shape) {
	mark := rowsMark{time.Now().Add(-isamAge).UnixNano(), shape}
	j.eachRowFile(name, shape, func(dir *sys.Dir, file string) {
		_ = dir.SetWritten(file, mark.at) // then it counts as written
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watched[name] != nil {
		j.marks[name] = mark
	}
}

// look finds tables of a watched database to which rows may have been written that the log does not have, since it was
// marked or looked at last. They are noted before their files are marked again: another may look in between.
func (j *Journal) look(name string) {
	j.mu.Lock()
	mark, marked := j.marks[name]
	j.mu.Unlock()
	if !marked {
		return
	}
	var written []string
	seen := j.eachRowFile(name, mark.shape, func(dir *sys.Dir, file string) {
		if at, err := dir.Written(file); err != nil || at != mark.at {
			written = append(written, file)
		}
	})
	if seen && len(written) == 0 {
		return
	}
	tables := isamTables(mark.shape)
	known := slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return !slices.Contains(written, table+isamRows) })
	if seen && len(known) == len(written) { // else a name is written otherwise in that of its file
		tables = known
	}
	j.mu.Lock()
	if c := j.watched[name]; c != nil {
		for _, table := range tables {
			c.refill(table)
		}
	}
	j.mu.Unlock()
	j.eachRowFile(name, mark.shape, func(dir *sys.Dir, file string) {
		if slices.Contains(written, file) {
			_ = dir.SetWritten(file, mark.at) // what is written from now on shows again
		}
	})
}

// takeAll is Take, and finds the rows that the log does not have, or says that there may be some.
func (j *Journal) takeAll(d *Database) *Changes {
	j.look(d.Name)
	c := j.Take(d.Name)
	switch {
	case d.Shape.Definers.Open():
		c.incomplete("sessions may have switched the binary log off: every account has the right, or the application's")
	case j.Mighty(d.User):
		c.incomplete("sessions may have switched the binary log off: " + d.User + ", its account, was given a right by which they do, or call what does; that of another lease has none")
	}
	return c
}

// Touched is Changed, and finds the rows that the log does not have. Whoever puts a database back asks Changed, since
// that writes rows itself.
func (j *Journal) Touched(name string) string {
	j.look(name)
	j.Follow(name)
	return j.Changed(name)
}
