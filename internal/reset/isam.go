package reset

import (
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/template"
)

// What is written to a table of MyISAM through a temporary table of the engine MRG_MyISAM is in no log. It is in the
// table's file: a database that is right has all of these marked with a time in the past, which any write changes.

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

// markRows says that the rows of a watched database are right, or that what is not is known.
func (j *Journal) markRows(name string, shape *template.Shape) {
	at := time.Now().Add(-isamAge).UnixNano()
	j.eachRowFile(name, shape, func(dir *sys.Dir, file string) {
		_ = dir.SetWritten(file, at) // then it counts as written
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watched[name] != nil {
		j.marks[name] = at
	}
}

// takeAll is Take, and finds the rows that the log does not have, or says that there may be some.
func (j *Journal) takeAll(name string, shape *template.Shape) *Changes {
	j.mu.Lock()
	mark, marked := j.marks[name]
	j.mu.Unlock()
	written, odd := map[string]bool{}, false
	j.eachRowFile(name, shape, func(dir *sys.Dir, file string) {
		if at, err := dir.Written(file); marked && (err != nil || at != mark) {
			table := strings.TrimSuffix(file, isamRows)
			written[table] = true
			odd = odd || shape.Table(table) == nil // its name is written otherwise in that of the file
		}
	})
	c := j.Take(name)
	for _, table := range isamTables(shape) {
		if written[table] || odd {
			c.refill(table)
		}
	}
	if shape.Definers.Open() {
		c.incomplete("sessions may have switched the binary log off: every account has the right, or the application's")
	}
	return c
}
