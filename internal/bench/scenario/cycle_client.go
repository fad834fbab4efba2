package scenario

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// client is a row whose rounds are calls of the client; path is that of what is loaded, and
// is asked for when the data is ready.
func (d *cycleRows) client(c runner.Case, r *lab.PlacedServer, path func(ctx context.Context) (string, error), round func(ctx context.Context, client lab.ShellClient, path string) (runner.Sample, error)) runner.Case {
	var client lab.ShellClient
	var file string
	c.Prepare = func(ctx context.Context) (err error) {
		if client, err = d.begin(ctx, r); err != nil {
			return err
		}
		file, err = path(ctx)
		return err
	}
	c.Round = func(ctx context.Context) (runner.Sample, error) { return round(ctx, client, file) }
	// The last load of a round is dropped in the next.
	c.Check = func(ctx context.Context) error { return d.data.Verify(ctx, r.Endpoint, d.data.Database) }
	c.Cleanup = r.Close
	return lab.WithStorage(r.Where, c)[0]
}

// cycling is client for rounds of cycles.
func (d *cycleRows) cycling(c runner.Case, r *lab.PlacedServer, path func(ctx context.Context) (string, error), cycle func(ctx context.Context, client lab.ShellClient, path string) error) runner.Case {
	return d.client(c, r, path, func(ctx context.Context, client lab.ShellClient, path string) (runner.Sample, error) {
		return d.cycles(ctx, 1, func(ctx context.Context, _ int) error { return cycle(ctx, client, path) })
	})
}

// calls is the shell script of old: three calls of the client for each cycle.
func (d *cycleRows) calls(name string, r *lab.PlacedServer, shape fixture.Shape) runner.Case {
	return d.cycling(runner.Case{
		Name: name, Settings: r.About + "; " + d.shape(shape) + "; three calls of the client",
		Command: d.script("CLIENT -e 'drop database DATABASE'; CLIENT -e 'create database DATABASE'; CLIENT DATABASE < DUMP", shape),
	}, r, d.file(shape), d.data.Cycle)
}

func (d *cycleRows) file(shape fixture.Shape) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return d.data.File(shape) }
}

// script is a command line for people: of CLIENT, DATABASE and the dump in a shape.
func (d *cycleRows) script(text string, shape fixture.Shape) string {
	database, dumped := lab.FixtureDatabase, shape.String()+".sql"
	if d.data.Path != "" {
		database = dumpfile.DatabaseName(d.data.Path)
		dumped = database + ".sql" // the client reads it unpacked
	}
	return strings.NewReplacer("CLIENT", string(d.lab.Server.Flavour), "DATABASE", database, "DUMP", dumped).Replace(text)
}

// shape is what the dump is like, in a word.
func (d *cycleRows) shape(shape fixture.Shape) string {
	if d.data.Path != "" {
		return filepath.Base(d.data.Path)
	}
	return shape.String()
}

// transaction is the dump between two statements.
func (d *cycleRows) transaction() runner.Case {
	return d.cycling(runner.Case{
		Name: RowCycleTrx, Settings: d.ram.About + "; SET autocommit=0 before " + d.shape(fixture.OneRow) + ", COMMIT behind it, though statements such as CREATE TABLE commit as well; three calls of the client",
		Command: d.script("(echo 'SET autocommit=0;'; cat DUMP; echo 'COMMIT;') | CLIENT DATABASE", fixture.OneRow),
	}, d.ram, func(context.Context) (string, error) {
		path, err := d.data.File(fixture.OneRow)
		if err != nil {
			return "", err
		}
		return d.lab.WrapDump("transaction", "SET autocommit=0;\n", path, "\nCOMMIT;\n")
	}, d.data.Cycle)
}

func (d *cycleRows) extended() runner.Case {
	c := d.calls(RowCycleExtended, d.ram, fixture.Extended)
	if d.data.Path != "" {
		c.Prepare = func(context.Context) error {
			return lab.NotApplicableError("your dump is loaded as it is; a row further down has it packed")
		}
	}
	return c
}

// session is everything in one call.
func (d *cycleRows) session() runner.Case {
	return d.cycling(runner.Case{
		Name: RowCycleSession, Settings: d.ram.About + "; " + d.shape(fixture.Extended) + "; one call of the client",
		Command: d.script("(echo 'drop database DATABASE; create database DATABASE; use DATABASE;'; cat DUMP) | CLIENT", fixture.Extended),
	}, d.ram, func(context.Context) (string, error) { return d.data.ReloadScript(d.data.Database, fixture.Extended) },
		func(ctx context.Context, client lab.ShellClient, path string) error {
			return client.File(ctx, "", path)
		})
}
