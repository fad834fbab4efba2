package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newDump(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Rewrite dumps, without a server",
	}
	onlyOthers(cmd)
	cmd.AddCommand(newDumpPack(a))
	return cmd
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
behind their rows. What is loaded stays the same: schema, rows, counters, views,
routines, triggers, events. What pack does not understand it leaves as it is.

IN may be compressed (gzip, zstd, xz); - is stdin. OUT is compressed if its name ends in
.zst; - is stdout. OUT is replaced when the new file is whole: after an error, or of a
dump that is cut short, the old one is still there.

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
	info, err := inputInfo(in)
	if err != nil {
		return err
	}
	if to, err := os.Stat(o.out); err == nil && info != nil && os.SameFile(info, to) && to.Mode().IsRegular() {
		return usageError{fmt.Errorf("pack %s: input and output are the same file\nhint: -o another file", in)}
	}
	name, bar := a.dumpBar("packing", in, info)
	began := time.Now()
	sum, written, err := a.pack(ctx, in, name, bar, o.out, info, opts)
	if err := bar.Close(); err != nil {
		return err
	}
	took := time.Since(began)
	if ctx.Err() != nil {
		return fmt.Errorf("pack %s: interrupted: %w", name, ctx.Err())
	}
	if err != nil {
		return err
	}
	a.say("packed %s: %s in %d statements became %s in %d; %.2f s, %s/s", name, volume.FormatBytes(sum.In.Bytes), sum.In.Statements,
		volume.FormatBytes(written), sum.Statements, took.Seconds(), volume.FormatBytes(int64(float64(sum.In.Bytes)/took.Seconds())))
	return nil
}

func (o *packFlags) options() (pack.Options, error) {
	size, err := volume.ParseSize(o.maxStatement)
	switch {
	case err != nil:
		return pack.Options{}, usageError{fmt.Errorf("--max-statement: %w", err)}
	case size < 1 || size > pack.MaxStatement:
		return pack.Options{}, usageError{fmt.Errorf("--max-statement %s: statements are of 1 byte to %d MB, the most that a server takes by default", o.maxStatement, pack.MaxStatement>>20)}
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

// inputInfo returns what is known of the input, nil for a standard input that is closed.
func inputInfo(in string) (fs.FileInfo, error) {
	if in == "-" {
		info, err := os.Stdin.Stat()
		if err != nil {
			return nil, nil //nolint:nilnil,nilerr // reading it will tell
		}
		return info, nil
	}
	info, err := os.Stat(in)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open dump %s: no such file\nhint: name a file, or - for standard input", in)
	case err != nil:
		return nil, fmt.Errorf("open dump: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("open dump %s: it is a directory\nhint: name the files in it", in)
	}
	return info, nil
}

// dumpBar returns what a dump is called, and a bar for reading it; none without a terminal, where
// the line at the end is enough.
func (a *app) dumpBar(does, in string, info fs.FileInfo) (name string, bar io.WriteCloser) {
	size := int64(-1)
	name = filepath.Base(in)
	if in == "-" {
		name = "stdin"
	} else if info.Mode().IsRegular() {
		size = info.Size()
	}
	return name, progress.Quiet(a.stderr, a.terminal, does+" "+name, size)
}

// pack packs and returns the size of what was written.
func (a *app) pack(ctx context.Context, in, name string, bar io.Writer, out string, info fs.FileInfo, opts pack.Options) (pack.Summary, int64, error) {
	r, err := openDump(ctx, in, name, info, bar)
	if err != nil {
		return pack.Summary{}, 0, err
	}
	defer r.Close()
	if out == "-" {
		sum, err := pack.Pack(ctx, a.stdout, r, name, opts)
		return sum, sum.Bytes, err
	}
	// Who may not read the one may not read the other.
	mode := 0o666 &^ a.callersUmask()
	if info != nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm() & 0o666
	}
	f, err := pack.Create(out, mode)
	if err != nil {
		return pack.Summary{}, 0, err
	}
	defer f.Close()
	sum, err := pack.Pack(ctx, f, r, name, opts)
	if err != nil {
		return sum, 0, err
	}
	if err := ctx.Err(); err != nil {
		return sum, 0, err
	}
	err = f.Keep()
	return sum, f.Size, err
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

// openDump opens a dump; - is standard input. One that is no file ends with ctx.
func openDump(ctx context.Context, path, name string, info fs.FileInfo, watch io.Writer) (*dump.Reader, error) {
	if info != nil && info.Mode().IsRegular() && path != "-" {
		return dump.OpenWatched(path, watch)
	}
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, fmt.Errorf("open dump: %w", err)
		}
	}
	return dump.NewReader(io.TeeReader(interruptible(ctx, f), watch), name)
}

// interruptible reads r until ctx ends. A read of a pipe cannot be interrupted: it goes on
// until the program ends, which is soon.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, pipeSize))
		in.CloseWithError(err)
	}()
	return out
}

// pipeSize is the size of reads from a pipe, in bytes.
const pipeSize = 256 << 10
