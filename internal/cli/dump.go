package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type dumpFlags struct {
	out     string
	history bool
}

func newDump(a *app) *cobra.Command {
	o := dumpFlags{out: engine.Stdin}
	cmd := &cobra.Command{
		Use:   "dump NAME [DATABASE...]",
		Short: "Dump databases of a running instance by the server's own dumper",
		Long: `Dump databases of a running instance by the server's own dumper (mariadb-dump, mysqldump): tables,
views, routines, triggers and events, without any lock, with binary columns in hex and without what
is of this server alone, such as GTIDs. Tables of InnoDB are as they are at one moment; each of
another engine (MyISAM, Aria, MEMORY) is as it is when it is read, so write to these meanwhile only
what may be missing. Without DATABASE it is the one of the DSN. The dump of a single database does
not say its name; that of several does.

Of a system-versioned table (MariaDB) the dump has the present rows, and says so; --history writes
the earlier rows as well, which only MariaDB from 10.11 on loads.

-o is stdout, or a file, compressed if its name ends in .zst or .gz. It is replaced once the new
file is complete. ramaria load, up --from and any client load it.

An instance that is itself called pack is named by -i.`,
		Example: `  ramaria dump shop -o shop.sql.zst
  ramaria dump shop orders | mysql -h elsewhere orders
  ramaria load other shop shop.sql.zst`,
		Args: minArgs("the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd.Context(), a, args[0], args[1:], &o)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().StringVarP(&o.out, "output", "o", o.out, "`FILE` to write: plain, or compressed if it ends in .zst or .gz; - for stdout")
	cmd.Flags().BoolVar(&o.history, "history", false, "write the earlier rows of system-versioned tables as well")
	cmd.AddCommand(newDumpPack(a))
	return a.named(cmd)
}

func runDump(ctx context.Context, a *app, name string, databases []string, o *dumpFlags) error {
	for _, ending := range []string{".xz", ".bz2", ".zip"} {
		if strings.HasSuffix(strings.ToLower(o.out), ending) {
			return usageError{fmt.Errorf("write %s: a dump is written plain, or as zstd or gzip\nhint: -o dump.sql.zst", o.out)}
		}
	}
	d, err := a.engine.Dump(ctx, engine.DumpRequest{Name: name, Databases: databases, Out: o.out, Mode: 0o600 &^ a.callersUmask(), Stdout: a.stdout, History: o.history})
	if err != nil {
		return err
	}
	if len(d.Past) > 0 {
		again := "ramaria dump " + name
		for _, database := range databases {
			again += " " + engine.ShellWord(database)
		}
		if o.out != engine.Stdin {
			again += " -o " + engine.ShellWord(o.out)
		}
		a.say("the dump has no earlier rows of %s, which the server keeps\nhint: %s --history", strings.Join(d.Past, ", "), again)
	}
	if o.out != engine.Stdin {
		a.say("dumped %s of %s: %s in %s", strings.Join(d.Databases, ", "), name, volume.FormatBytes(d.Size), o.out)
	}
	return nil
}

type packFlags struct {
	out          string
	maxStatement string
}

func newDumpPack(a *app) *cobra.Command {
	var o packFlags
	cmd := &cobra.Command{
		Use:   "pack IN -o OUT",
		Short: "Rewrite a dump so that any client loads it faster",
		Long: `Rewrite a dump so that any client loads it faster, into any server: rows in larger
statements, one transaction per table, and the keys of tables of more than 4 MB added
behind their rows. The result of the load stays the same: schema, rows, counters, views,
routines, triggers, events. Statements that pack does not understand it leaves as they are.

IN may be compressed (gzip, zstd, xz); - is stdin. OUT is compressed if its name ends in
.zst; - is stdout. OUT is replaced once the new file is complete: after an error, or if IN
is cut short, the old OUT is still there.

Load OUT where IN would be loaded first: into an empty server, or over the same tables.
MySQL refuses to drop a key that a foreign key of another, older table needs; if such a
table exists already and comes later in the dump, drop it first.`,
		Example: `  ramaria dump pack shop.sql.gz -o shop.packed.sql.zst
  mysqldump shop | ramaria dump pack - -o - | mysql elsewhere`,
		Args: exactArgs(1, "the dump to be packed, - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDumpPack(cmd.Context(), a, args[0], &o)
		},
	}
	cmd.Flags().StringVarP(&o.out, "output", "o", "", "`FILE` to write: plain, or compressed if it ends in .zst; - for stdout")
	cmd.Flags().StringVar(&o.maxStatement, "max-statement", "1M", "merge rows into statements of up to `SIZE`, at most 16M")
	return cmd
}

// dumpMemory is what packing and loading keep to, in bytes, but for a row that is larger.
const dumpMemory = 48 << 20

func runDumpPack(ctx context.Context, a *app, in string, o *packFlags) error {
	debug.SetMemoryLimit(dumpMemory)
	opts, err := o.options()
	if err != nil {
		return err
	}
	p, err := a.engine.Pack(ctx, engine.PackRequest{In: in, Out: o.out, Options: opts, Mode: 0o666 &^ a.callersUmask(), Stdin: a.stdin, Stdout: a.stdout})
	if err != nil {
		return err
	}
	a.say("packed %s: %s in %d statements became %s in %d; %.2f s, %s/s", p.Name, volume.FormatBytes(p.In.Bytes), p.In.Statements,
		volume.FormatBytes(p.Size), p.Statements, p.Took.Seconds(), volume.FormatBytes(int64(float64(p.In.Bytes)/p.Took.Seconds())))
	return nil
}

func (o *packFlags) options() (pack.Options, error) {
	size, err := volume.ParseSize(o.maxStatement)
	switch {
	case err != nil:
		return pack.Options{}, usageError{fmt.Errorf("--max-statement: %w", err)}
	case size < 1 || size > pack.MaxStatement:
		return pack.Options{}, usageError{fmt.Errorf("--max-statement %s: statements are of 1 byte to %d MB, the most that a server takes by default\nhint: --max-statement 1M", o.maxStatement, pack.MaxStatement>>20)}
	case o.out == "":
		return pack.Options{}, usageError{errors.New("dump pack: -o is missing\nhint: -o packed.sql.zst, or -o - for stdout")}
	}
	for _, ending := range []string{".gz", ".xz", ".bz2", ".zip"} {
		if strings.HasSuffix(strings.ToLower(o.out), ending) {
			return pack.Options{}, usageError{fmt.Errorf("write %s: a packed dump is written plain or as zstd\nhint: -o packed.sql.zst", o.out)}
		}
	}
	return pack.Options{Statement: int(size)}, nil
}

// callersUmask returns the permissions that new files are not to have.
func (a *app) callersUmask() fs.FileMode {
	if a.engine.UID == 0 {
		return fs.FileMode(a.umask)
	}
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}
