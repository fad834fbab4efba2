package engine

import (
	"context"
	"fmt"
	"io"
	"io/fs"
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
}

// Dumped describes a dump that was written.
type Dumped struct {
	Databases []string
	// Size is that of the file, or of what was written to Stdout, in bytes.
	Size int64
}

// Dump has the server's own dumper write databases of an instance, as they are at one moment, and locks nothing. The file
// appears once it is complete.
func (e *Engine) Dump(ctx context.Context, q DumpRequest) (d Dumped, err error) {
	i, err := e.Running(q.Name)
	if err != nil {
		return d, err
	}
	if d.Databases = q.Databases; len(d.Databases) == 0 {
		d.Databases = []string{i.Endpoint.Database}
	}
	args := append(whole(), i.Server.DumperAlone()...)
	if len(d.Databases) > 1 {
		args = append(args, "--databases")
	}
	args = append(append(args, "--"), d.Databases...)
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
