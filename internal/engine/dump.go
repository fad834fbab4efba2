package engine

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/parts"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
)

// DumpRequest asks for a dump of databases of an instance, which runs.
type DumpRequest struct {
	Name string
	// Databases are those to dump; none is the one of the instance's DSN. Of a single one the dump does
	// not say the name, so that it is loaded into any.
	Databases []string
	// Out is the path of the file to write, compressed by its ending; Stdin ("-") means the field Stdout.
	Out    string
	Mode   fs.FileMode
	Stdout io.Writer
	// Dir is set where Out is a directory to write.
	Dir *DumpDir
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

// dumpJob is a dump that is being made.
type dumpJob struct {
	DumpRequest
	e  *Engine
	i  *instance.Instance
	db *sql.DB // of the supervisor's account, which sees routines and definers of everybody
	// args are those of all dumpers.
	args   []string
	tables []dumpTable
	done   Dumped
}

// Dump has the server's own dumper write databases of an instance, and locks nothing: tables of InnoDB as they are at one
// moment, others as they are when they are read. The file, or directory, appears once it is complete.
func (e *Engine) Dump(ctx context.Context, q DumpRequest) (Dumped, error) {
	i, err := e.Running(q.Name)
	if err != nil {
		return Dumped{}, err
	}
	if len(q.Databases) == 0 {
		q.Databases = []string{i.Endpoint.Database}
	}
	j := &dumpJob{DumpRequest: q, e: e, i: i, args: append(whole(i.Server), i.Server.DumperAlone()...), done: Dumped{Databases: q.Databases}}
	if q.History && !i.Server.Dumper.Knows("dump-history") {
		return j.done, fmt.Errorf("dump instance %s: the dumper of %s writes no earlier rows\nhint: leave --history out; MariaDB has it from 10.11 on", q.Name, i.Server.Name())
	}
	if q.History {
		j.args = append(j.args, "--dump-history")
	}
	if j.db, err = dbconn.Open(i.Endpoint.Socket, i.Supervisor, ""); err != nil {
		return j.done, err
	}
	defer j.db.Close()
	if err := unlimited(ctx, j.db, i.Server, "instance "+q.Name); err != nil {
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
func (j *dumpJob) writeFile(ctx context.Context) error {
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
	if j.Out == Stdin {
		return j.dumper(args).run(ctx, func(out io.Reader) (err error) {
			j.done.Size, err = io.Copy(j.Stdout, parts.Plain(out))
			return err
		})
	}
	f, err := pack.Create(j.Out, j.Mode)
	if err != nil {
		return err
	}
	defer f.Close()
	bar := j.bar()
	err = j.dumper(args).run(ctx, func(out io.Reader) error {
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
func (j *dumpJob) dumper(args []string) dumping {
	config := dbconn.Endpoint{Socket: j.i.Endpoint.Socket, Login: j.i.Supervisor}.ClientConfig()
	return dumping{of: j.i.Server, what: "instance " + j.Name, config: config, args: args}
}

// bar shows how much was written, on a terminal.
func (j *dumpJob) bar() io.WriteCloser {
	w, terminal := j.e.progress()
	return progress.Quiet(w, terminal, "dumping "+j.Name, -1)
}

// Again is the command of the dump, with more arguments, for hints.
func (q DumpRequest) Again(more ...string) string {
	words := append([]string{"ramaria", "dump", q.Name}, q.Databases...)
	for _, name := range q.Ignore {
		words = append(words, "--ignore-table", name)
	}
	if q.History {
		words = append(words, "--history")
	}
	if q.Out != Stdin {
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
