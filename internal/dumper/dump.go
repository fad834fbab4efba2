// Package dumper has a server's own dump program write databases of it: with settings under which nothing is left out, as of
// one moment, to a file, a pipe, or a directory of files that load in parallel. What it writes any client loads.
package dumper

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/parts"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Stdout is the path that means standard output.
const Stdout = "-"

// Request asks for a dump of databases of an instance, which runs.
type Request struct {
	Name string
	// Databases are those to dump. Of a single one the dump does
	// not say the name, so that it is loaded into any.
	Databases []string
	// Out is the path of the file to write, compressed by its ending; Stdout ("-") means the field Stdout.
	Out    string
	Mode   fs.FileMode
	Stdout io.Writer
	// Dir is set where Out is a directory to write.
	Dir *Dir
	// History writes the earlier rows of system-versioned tables as well, which only MariaDB from 10.11 on loads.
	History bool
	// Ignore are tables and views to leave out, as table, or as database.table where there are several databases.
	Ignore []string
}

// Dumped describes a dump that was written.
type Dumped struct {
	Databases []string
	// Size is that of the files, or of what was written to Stdout, in bytes.
	Size int64
	// Files is how many there are in a directory.
	Files int
	// Past are the system-versioned tables whose earlier rows were left out, as database.table.
	Past []string
	// Unsnapped are the tables that are not as they were at the dump's moment, but when they were read.
	Unsnapped []string
}

// job is a dump that is being made.
type job struct {
	Request
	Source

	db *sql.DB
	// args are those of all dumpers.
	args   []string
	tables []table
	done   Dumped
}

// Source is the server of an instance, which runs.
type Source struct {
	Server *server.Server
	Socket string
	// Login is of an account that sees routines and definers of everybody.
	Login dbconn.Login
	// Bar returns what shows how much was written, on a terminal; does says what is done.
	Bar func(does string) io.WriteCloser
}

// RefusedError says that what was asked for cannot be had of this server.
type RefusedError struct{ error }

func (e RefusedError) Unwrap() error { return e.error }

// Dump has the server's own dumper write databases of an instance, and locks nothing: tables of InnoDB as they are at one
// moment, others as they are when they are read. The file, or directory, appears once it is complete.
func Dump(ctx context.Context, from Source, q Request) (Dumped, error) {
	j := &job{Request: q, Source: from, args: append(Whole(from.Server), from.Server.DumperAlone()...), done: Dumped{Databases: q.Databases}}
	if q.Dir != nil && len(q.Databases) > MaxDumpers {
		return j.done, RefusedError{fmt.Errorf("dump instance %s: a directory is of %d databases at most, each of which has a dumper of its own\nhint: name some of them at a time, or write one file: -o dump.sql.zst", q.Name, MaxDumpers)}
	}
	if q.History && !from.Server.Dumper.Knows("dump-history") {
		return j.done, fmt.Errorf("dump instance %s: the dumper of %s writes no earlier rows\nhint: leave --history out; MariaDB has it from 10.11 on", q.Name, from.Server.Name())
	}
	if q.History {
		j.args = append(j.args, "--dump-history")
	}
	var err error
	if j.db, err = dbconn.Open(from.Socket, from.Login, ""); err != nil {
		return j.done, err
	}
	defer j.db.Close()
	if err := CheckWhole(ctx, j.db, from.Server, "instance "+q.Name); err != nil {
		return j.done, err
	}
	if err := j.look(ctx); err != nil {
		return j.done, err
	}
	if q.Dir != nil {
		err = j.writeDir(ctx)
	} else {
		err = j.writeFile(ctx)
	}
	return j.done, j.explain(ctx, err)
}

// writeFile writes one file.
func (j *job) writeFile(ctx context.Context) error {
	args := slices.Clone(j.args)
	for _, t := range j.tables {
		if t.ignored {
			args = append(args, "--ignore-table="+t.database+"."+t.name)
		}
	}
	if len(j.Databases) > 1 {
		args = append(args, "--databases")
	}
	args = append(append(args, "--"), j.Databases...)
	if j.Out == Stdout {
		return j.dumper(args).Do(ctx, func(out io.Reader) (err error) {
			j.done.Size, err = io.Copy(j.Stdout, parts.Plain(out))
			return err
		})
	}
	f, err := pack.Create(j.Out, j.Mode)
	if err != nil {
		return err
	}
	defer f.Close()
	bar := j.Bar("dumping " + j.Name)
	err = j.dumper(args).Do(ctx, func(out io.Reader) error {
		_, err := io.Copy(f, io.TeeReader(parts.Plain(out), bar))
		return err
	})
	if cerr := bar.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	err = f.Keep()
	j.done.Size = f.Size
	return err
}

// dumper is a run of the server's dumper.
func (j *job) dumper(args []string) Run {
	config := dbconn.Endpoint{Socket: j.Socket, Login: j.Login}.ClientConfig()
	return Run{Of: j.Server, What: "instance " + j.Name, Config: config, Args: args}
}

// Again is the command of the dump, with more arguments, for hints.
func (q Request) Again(more ...string) string {
	words := append([]string{"ramaria", "dump", q.Name}, q.Databases...)
	for _, name := range q.Ignore {
		words = append(words, "--ignore-table", name)
	}
	if q.History {
		words = append(words, "--history")
	}
	if q.Out != Stdout {
		words = append(words, "-o", q.Out)
	}
	if q.Dir != nil && q.Dir.Ending != "" {
		words = append(words, "--compress", q.Dir.Ending[1:])
	}
	words = append(words, more...)
	for n, word := range words {
		words[n] = server.ShellWord(word)
	}
	return strings.Join(words, " ")
}
