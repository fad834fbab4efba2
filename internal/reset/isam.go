package reset

import (
	"strings"
	"time"

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

// eachRowFile calls f for the files of rows of MyISAM in the directory of a database, if its template has such tables.
func (j *Journal) eachRowFile(name string, shape *template.Shape, f func(dir *sys.Dir, file string)) {
	if len(isamTables(shape)) == 0 {
		return
	}
	data, err := sys.OpenDir(j.dir)
	if err != nil {
		return
	}
	defer func() { _ = data.Close() }()
	dir, err := data.Dir(name)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Names()
	if err != nil {
		return
	}
	for _, file := range names {
		if strings.HasSuffix(file, isamRows) {
			f(dir, file)
		}
	}
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

// unseen returns the tables of a watched database to which rows may have been written that the log does not have, since it
// was marked or asked for last.
func (j *Journal) unseen(name string) (tables []string) {
	j.mu.Lock()
	mark, marked := j.marks[name]
	j.mu.Unlock()
	if !marked {
		return nil
	}
	written, odd := map[string]bool{}, false
	j.eachRowFile(name, mark.shape, func(dir *sys.Dir, file string) {
		if at, err := dir.Written(file); err == nil && at == mark.at {
			return
		}
		_ = dir.SetWritten(file, mark.at) // what is written from now on shows again
		table := strings.TrimSuffix(file, isamRows)
		written[table] = true
		odd = odd || mark.shape.Table(table) == nil // its name is written otherwise in that of the file
	})
	for _, table := range isamTables(mark.shape) {
		if written[table] || odd {
			tables = append(tables, table)
		}
	}
	return tables
}

// takeAll is Take, and finds the rows that the log does not have, or says that there may be some.
func (j *Journal) takeAll(d *Database) *Changes {
	unseen := j.unseen(d.Name)
	c := j.Take(d.Name)
	for _, table := range unseen {
		c.refill(table)
	}
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
	if unseen := j.unseen(name); len(unseen) > 0 {
		j.mu.Lock()
		if c := j.watched[name]; c != nil {
			for _, table := range unseen {
				c.refill(table)
			}
		}
		j.mu.Unlock()
	}
	return j.Changed(name)
}
