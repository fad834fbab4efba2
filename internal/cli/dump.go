package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/dumper"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type dumpFlags struct {
	out      string
	history  bool
	ignore   []string
	compress string
	partSize string
	jobs     int
}

func newDump(a *app) *cobra.Command {
	o := dumpFlags{out: dumper.Stdout}
	cmd := &cobra.Command{
		Use:   "dump NAME [DATABASE...]",
		Short: "Dump databases of a running instance by the server's own dumper",
		Long: `Dump databases of a running instance by the server's own dumper (mariadb-dump, mysqldump): tables,
views, routines, triggers and events, with binary columns in hex and without what is of this server
alone, such as GTIDs and accounts. Tables of InnoDB are as they are at one moment; each of another
engine (MyISAM, Aria, MEMORY) is as it is when it is read, and the command names these. Without
DATABASE it is the one of the DSN. The dump of a single database does not say its name; that of
several does.

-o is stdout, or a file, compressed if its name ends in .zst or .gz, for which nothing is locked. It
is replaced once the new file is complete.

-o DIR/, with the slash, is a directory that appears whole: 0-schema.sql, then the rows of each
table in files of about 64 MB (1-item.0001.sql, ...), then 9-objects.sql with triggers, routines,
events and views. --jobs dumpers read at the same time, from one moment, for which writes wait some
50 ms. Any client loads the files in the order of their names, those of rows also at the same time.

Of a system-versioned table (MariaDB) the dump has the present rows, and says so; --history writes
the earlier rows as well, which only MariaDB from 10.11 on loads.

ramaria load, up --from and any client load what dump writes.

An instance that is itself called pack is named by -i.`,
		Example: `  ramaria dump shop -o shop.sql.zst
  ramaria dump shop orders | mysql -h elsewhere orders
  ramaria dump shop -o backup/ && cat backup/*.sql | mysql -h elsewhere shop
  ramaria load other shop shop.sql.zst`,
		Args: minArgs("the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd.Context(), a, args[0], args[1:], &o)
		},
		ValidArgsFunction: a.completeNames,
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", o.out, "`FILE` to write: plain, or compressed if it ends in .zst or .gz; DIR/ for a directory of files; - for stdout")
	f.BoolVar(&o.history, "history", false, "write the earlier rows of system-versioned tables as well")
	f.StringArrayVar(&o.ignore, "ignore-table", nil, "leave out `TABLE`, or a view; DATABASE.TABLE where several databases are dumped; repeatable")
	f.StringVar(&o.compress, "compress", "", "compress the files of a directory, `HOW`: zst or gz")
	f.StringVar(&o.partSize, "part-size", "64M", "`SIZE` of text at which the next file of a table is begun in a directory")
	f.IntVarP(&o.jobs, "jobs", "j", defaultDumpers(), "`N` dumpers read at the same time for a directory; 1 takes no lock")
	cmd.AddCommand(newDumpPack(a))
	return a.named(cmd)
}

// defaultDumpers is how many dumpers read at once: the server works as much as each.
func defaultDumpers() int { return min(4, max(2, runtime.NumCPU()/2)) }

func runDump(ctx context.Context, a *app, name string, databases []string, o *dumpFlags) error {
	q := dumper.Request{Name: name, Databases: databases, Out: o.out, Mode: 0o600 &^ a.callersUmask(), Stdout: a.stdout, History: o.history, Ignore: o.ignore}
	if err := o.target(&q); err != nil {
		return err
	}
	d, err := a.engine.Dump(ctx, q)
	if err != nil {
		return err
	}
	if len(d.Past) > 0 {
		a.say("the dump has no earlier rows of %s, which the server keeps\nhint: %s", strings.Join(d.Past, ", "), q.Again("--history"))
	}
	if len(d.Unsnapped) > 0 {
		a.say("%s not of InnoDB: the dump has what was there when it was read, not what was there at one moment\nhint: where something wrote to it meanwhile: ramaria branch %[2]s %[2]s-still && ramaria dump %[2]s-still, which nothing writes to", areTables(d.Unsnapped), name)
	}
	switch {
	case q.Dir != nil:
		a.say("dumped %s of %s: %s in %d files in %s", strings.Join(d.Databases, ", "), name, volume.FormatBytes(d.Size), d.Files, o.out)
	case o.out != dumper.Stdout:
		a.say("dumped %s of %s: %s in %s", strings.Join(d.Databases, ", "), name, volume.FormatBytes(d.Size), o.out)
	}
	return nil
}

// areTables begins a sentence on tables, of which it names some.
func areTables(list []string) string {
	const most = 5
	switch {
	case len(list) == 1:
		return list[0] + " is"
	case len(list) > most:
		return fmt.Sprintf("%s and %d more tables are", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ") + " are"
}

// target reads what is written, and how.
func (o *dumpFlags) target(q *dumper.Request) error {
	for _, ending := range []string{".xz", ".bz2", ".zip"} {
		if strings.HasSuffix(strings.ToLower(o.out), ending) {
			return usageError{fmt.Errorf("write %s: a dump is written plain, or as zstd or gzip\nhint: -o dump.sql.zst", o.out)}
		}
	}
	info, err := os.Stat(o.out)
	if !strings.HasSuffix(o.out, "/") && (err != nil || !info.IsDir()) {
		if o.compress != "" {
			return usageError{fmt.Errorf("--compress %s: it is for a directory; a file is compressed as its name ends\nhint: -o dump.sql.zst, or -o dump/ --compress zst", o.compress)}
		}
		return nil
	}
	q.Dir = &dumper.Dir{Jobs: o.jobs}
	switch o.compress {
	case "":
	case "zst", "gz":
		q.Dir.Ending = "." + o.compress
	default:
		return usageError{fmt.Errorf("--compress %s: it is zst or gz\nhint: --compress zst", o.compress)}
	}
	if o.jobs < 1 || o.jobs > dumper.MaxDumpers {
		return usageError{fmt.Errorf("--jobs %d: it is from 1 to %d\nhint: leave it out", o.jobs, dumper.MaxDumpers)}
	}
	size, err := volume.ParseSize(o.partSize)
	if err != nil {
		return usageError{fmt.Errorf("--part-size: %w", err)}
	}
	if q.Dir.PartSize = size; size < 1 {
		return usageError{fmt.Errorf("--part-size %s: it is at least 1\nhint: --part-size 64M", o.partSize)}
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

IN may be compressed (gzip, zstd, xz, bzip2, zip); - is stdin, and a URL (https://, s3://) is
fetched. OUT is compressed if its name ends in .zst; - is stdout. OUT is replaced once the
new file is complete: after an error, or if IN is cut short, the old OUT is still there.

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
