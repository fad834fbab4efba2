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
	"github.com/ramaria-db/ramaria/internal/pack"
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
	// History writes the earlier rows of system-versioned tables as well, which only MariaDB from 10.11 on loads.
	History bool
}

// Dumped describes a dump that was written.
type Dumped struct {
	Databases []string
	// Size is that of the file, or of what was written to Stdout, in bytes.
	Size int64
	// Past are the system-versioned tables whose earlier rows were left out, as database.table.
	Past []string
}

// Dump has the server's own dumper write databases of an instance, and locks nothing: tables of InnoDB as they are at one
// moment, others as they are when they are read. The file appears once it is complete.
func (e *Engine) Dump(ctx context.Context, q DumpRequest) (d Dumped, err error) {
	i, err := e.Running(q.Name)
	if err != nil {
		return d, err
	}
	if d.Databases = q.Databases; len(d.Databases) == 0 {
		d.Databases = []string{i.Endpoint.Database}
	}
	args := append(whole(i.Server), i.Server.DumperAlone()...)
	if len(d.Databases) > 1 {
		args = append(args, "--databases")
	}
	if q.History && !i.Server.Dumper.Knows("dump-history") {
		return d, fmt.Errorf("dump instance %s: the dumper of %s writes no earlier rows\nhint: leave --history out; MariaDB has it from 10.11 on", q.Name, i.Server.Name())
	}
	if q.History {
		args = append(args, "--dump-history")
	}
	args = append(append(args, "--"), d.Databases...)
	db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
	if err != nil {
		return d, err
	}
	defer db.Close()
	if err := unlimited(ctx, db, i.Server, "instance "+q.Name); err != nil {
		return d, err
	}
	if !q.History {
		if d.Past, err = versioned(ctx, db, d.Databases); err != nil {
			return d, err
		}
	}
	// The supervisor's account sees routines and definers of everybody.
	config := dbconn.Endpoint{Socket: i.Endpoint.Socket, Login: i.Supervisor}.ClientConfig()
	write := func(to io.Writer) error {
		return runDumper(ctx, i.Server, "instance "+q.Name, config, args, func(out io.Reader) error {
			n, err := io.Copy(to, out)
			d.Size += n
			return err
		})
	}
	if q.Out == Stdin {
		return d, interrupted(ctx, q.Name, write(q.Stdout))
	}
	f, err := pack.Create(q.Out, q.Mode)
	if err != nil {
		return d, err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return d, interrupted(ctx, q.Name, err)
	}
	err = f.Keep()
	d.Size = f.Size
	return d, err
}

// versioned are the system-versioned tables of databases, as database.table.
func versioned(ctx context.Context, db *sql.DB, databases []string) (list []string, err error) {
	err = dbconn.Query(ctx, db, "SELECT table_schema, table_name, @@lower_case_table_names FROM information_schema.tables WHERE table_type = 'SYSTEM VERSIONED' ORDER BY 1, 2", func(row []string) error {
		folds := row[2] != "0"
		if slices.ContainsFunc(databases, func(name string) bool { return name == row[0] || folds && strings.EqualFold(name, row[0]) }) {
			list = append(list, row[0]+"."+row[1])
		}
		return nil
	})
	return list, err
}

// interrupted is err, or that a dump was interrupted.
func interrupted(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("dump instance %s: interrupted: %w", name, ctx.Err())
	case err != nil && strings.Contains(err.Error(), "Unknown database"):
		return fmt.Errorf("%w\nhint: ramaria sql %s -e 'SHOW DATABASES'", err, name)
	}
	return err
}
