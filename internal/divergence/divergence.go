// Package divergence finds the first statement in a binary log by which a server that repeats the log may come to differ
// from the one that wrote it.
//
// The invariant: what was looked at and not found is repeatable, by the list of package repeatable. A log, or a part of
// it, that cannot be read counts as a statement.
package divergence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Since says since which statement a server may differ.
func Since(d *client.Divergence) string {
	return fmt.Sprintf("since a statement of %s (%s), which need not do the same twice: %s", d.At.Local().Format(time.DateTime), d.Position, d.Why)
}

// Log is where a binary log lies.
type Log struct {
	// Dir is the directory of its files, and Base what they are called.
	Dir, Base string
	// Files are those of the tables of the server that ran the statements. Where they are not at hand, Dir is empty: then
	// a table counts as one of the default engine, with default options.
	Files repeatable.Files
}

// Finder follows a log. It is not safe for several goroutines.
type Finder struct {
	judge *repeatable.Judge
	// at is where the next event begins that was not judged. stream reads its file; nil before its first byte.
	at     binlog.Position
	stream *binlog.Stream
}

// New returns a Finder that knows no tables and begins at a position, or, if that has no file, with the oldest.
func New(mysql bool, at binlog.Position) *Finder {
	return &Finder{judge: repeatable.New(mysql), at: at}
}

// Known tells of the primary key of a table that consists of one column: without, a statement that makes that column
// AUTO_INCREMENT is taken for one that may number rows differently.
func (f *Finder) Known(schema, table, column string) {
	f.judge.Known(schema, table, []string{column})
}

// At is where the next event begins that was not judged.
func (f *Finder) At() binlog.Position { return f.at }

// errFound ends the look at a file.
var errFound = errors.New("found")

// Look judges what has come to the log since the last look. It returns the first statement that need not do the same
// again, nil for none; after one it is not to be called again. The error is that of a directory that cannot be listed.
func (f *Finder) Look(l Log) (*client.Divergence, error) {
	files, err := binlog.Files(l.Dir, l.Base) // before they are read: a file that is followed by another is whole
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if binlog.Older(name, f.at.File) {
			continue
		}
		if name != f.at.File {
			f.at, f.stream = binlog.Position{File: name}, nil
		}
		if found := f.read(l); found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// readSize is how much of a file is read at a time, in bytes.
const readSize = 256 << 10

// read judges the rest of a file.
func (f *Finder) read(l Log) (found *client.Divergence) {
	path := filepath.Join(l.Dir, f.at.File)
	if f.stream == nil {
		f.stream = &binlog.Stream{File: path, Whole: func(t binlog.EventType, _ int64) bool { return t == binlog.QueryEvent }}
	}
	if fi, err := os.Lstat(path); err == nil && fi.Size() == f.stream.Next() {
		return nil
	}
	file, err := sys.OpenIn(l.Dir, f.at.File)
	if err != nil {
		return f.unreadable(err)
	}
	defer file.Close()
	judge := func(e *binlog.Event) error {
		if e.Offset < f.at.Offset {
			return nil
		}
		v, err := f.judge.Of(e)
		if err != nil {
			return err
		}
		l.Files.Settle(&v, e)
		if v.Fence == "" || v.Kind == repeatable.Twice { // which a replica does once
			return nil
		}
		found = &client.Divergence{
			Position: binlog.Position{File: f.at.File, Offset: e.Offset}.String(), Kind: v.Kind, Why: v.Fence, At: time.Unix(int64(e.Timestamp), 0),
		}
		return errFound
	}
	for b := make([]byte, readSize); ; {
		n, err := file.ReadAt(b, f.stream.Next())
		if n == 0 && errors.Is(err, io.EOF) {
			f.at.Offset = max(f.at.Offset, f.stream.At())
			return nil
		}
		if n > 0 {
			err = f.stream.Write(b[:n], judge)
		}
		switch {
		case errors.Is(err, errFound):
			return found
		case err != nil:
			return f.unreadable(err)
		}
	}
}

func (f *Finder) unreadable(err error) *client.Divergence {
	return &client.Divergence{Position: f.at.String(), Kind: repeatable.Unreadable, Why: fmt.Sprintf("the log cannot be read: %v", err), At: time.Now()}
}

// Own is where a log of ours lies, beside the data of the server that writes it; folds is repeatable.Files.Folds.
func Own(dir, base string, folds bool) Log {
	return Log{Dir: dir, Base: base, Files: repeatable.Files{Dir: dir, Lenient: true, Folds: folds}}
}
