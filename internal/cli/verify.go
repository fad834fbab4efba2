package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/verify"
)

type verifyOptions struct {
	server, volume          string
	against, save, textfile string
	maxAge                  string
	maxShrink               int
	quick, thorough         bool
	json                    bool
}

// defaultShrink is how many percent of its rows a table may lose from one time to the next.
const defaultShrink = 20

func newVerify(a *app) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify BACKUP",
		Short: "Restore a backup into a server that goes away, and check every table",
		Long: `Say whether a backup is one: restore it in RAM into a server that goes away afterwards, check
every table, count and sum the rows, open every view, and compare with the last time. BACKUP is
only read. It is

  a dump, compressed or not, - for stdin, or a directory of dumps
  the data directory of a stopped server, or a copy of one, also of a running one
  an archive of a durable instance: its directory, s3://BUCKET/PREFIX, or the instance's name
  a full backup of mariadb-backup or XtraBackup: its directory, prepared or not, or its stream

The server is of the series that the backup says made it, or a later one. Nobody else can connect
to it (but to that of an archive, which is an instance meanwhile), no event runs, and it follows
nobody.

--save keeps the report, and --against compares with it: a table, view, routine, trigger or event
that is gone, a table that is empty now or has lost more than --max-shrink percent of its rows, and
a last change before that of the last time make the backup faulty. More rows do not. The file of
--save is replaced by the report of a good backup alone, and the first time --against may name it
before it is there.

The exit status is 0 for a good backup, 5 for one that cannot be restored, and 6 for one that was
restored and with which something is wrong; others say nothing about the backup.`,
		Example: `  ramaria verify shop.sql.gz
  ramaria verify shop.sql.gz --against shop.json --save shop.json --max-age 26h
  ssh db1 cat /backup/shop.sql.zst | ramaria verify - --json`,
		Args: exactArgs(1, "a backup: a dump, a directory, or - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), a, args[0], &o)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "server `SOFTWARE` to restore with (default: of the series that the backup says made it)")
	f.StringVar(&o.volume, "volume", cmp.Or(os.Getenv(envVolume), "auto"), "where the backup is restored: `KIND[:SIZE]`, KIND one of auto, xfs, shm, tmpfs, zram, ramfs, disk (RAMARIA_VOLUME)")
	f.StringVar(&o.against, "against", "", "compare with `FILE`, the report of the last time")
	f.StringVar(&o.save, "save", "", "keep the report in `FILE` if the backup is good")
	f.StringVar(&o.textfile, "textfile", "", "write metrics to `FILE.prom` for the textfile collector of node_exporter; its name without .prom is the label backup")
	f.StringVar(&o.maxAge, "max-age", "", "the backup is faulty if its last change is more than `TIME` ago, as 26h or 7d")
	f.IntVar(&o.maxShrink, "max-shrink", defaultShrink, "how many `PERCENT` of its rows a table may lose between two times")
	f.BoolVar(&o.quick, "quick", false, "leave out the sums of rows, and what of CHECK TABLE reads every row")
	f.BoolVar(&o.thorough, "thorough", false, "run CHECK TABLE on what a dump brought, too, and count rows whose foreign keys lead to no row")
	cmd.MarkFlagsMutuallyExclusive("quick", "thorough")
	f.BoolVar(&o.json, "json", false, printJSONFlag)
	for _, flag := range []string{"against", "save", "textfile"} {
		_ = cmd.MarkFlagFilename(flag)
	}
	return cmd
}

func runVerify(ctx context.Context, a *app, backup string, o *verifyOptions) error {
	q, err := o.request(backup)
	if err != nil {
		return err
	}
	q.Stdin = a.stdin
	debug.SetMemoryLimit(dumpMemory)
	r, err := a.engine.Verify(ctx, q)
	if err != nil {
		return errors.Join(err, o.writeMetrics(a, &verify.Report{Verified: time.Now()}))
	}
	if o.json {
		err = a.printJSON(r)
	} else {
		a.printReport(r)
	}
	if err := errors.Join(err, o.writeMetrics(a, r), o.keep(a, r)); err != nil {
		return err
	}
	switch r.Status {
	case verify.Unrestorable:
		return statusError(exitUnrestorable)
	case verify.Faulty:
		return statusError(exitFaulty)
	}
	return nil
}

// request is what the flags ask for.
func (o *verifyOptions) request(backup string) (q engine.VerifyRequest, err error) {
	q = engine.VerifyRequest{Backup: backup, Server: o.server, Volume: o.volume, Options: verify.Options{Quick: o.quick, Thorough: o.thorough}}
	if o.maxShrink < 0 || o.maxShrink > 100 {
		return q, usageError{fmt.Errorf("use --max-shrink %d: it is 0 to 100 percent\nhint: --max-shrink %d", o.maxShrink, defaultShrink)}
	}
	if instance.IsBucket(backup) {
		at, err := s3.ParseURL(backup)
		if err != nil {
			return q, usageError{err}
		}
		q.Source = at.Pinned().String()
	}
	q.Bounds.Shrink = float64(o.maxShrink) / 100
	if o.maxAge != "" {
		if q.Bounds.MaxAge, err = parseTime(o.maxAge); err != nil || q.Bounds.MaxAge <= 0 {
			return q, usageError{fmt.Errorf("use --max-age %s: it is a time above 0\nhint: --max-age 26h, or 7d", sayable(o.maxAge))}
		}
	}
	if o.textfile != "" && !strings.HasSuffix(o.textfile, ".prom") {
		return q, usageError{fmt.Errorf("use --textfile %s: the collector reads files *.prom alone\nhint: --textfile %s.prom", o.textfile, server.ShellWord(o.textfile))}
	}
	if o.against != "" {
		q.Against, err = o.last()
	}
	return q, err
}

// last reads the report to compare with; nil if there is none yet, and --save is going to write it.
func (o *verifyOptions) last() (*verify.Report, error) {
	b, err := os.ReadFile(o.against)
	if errors.Is(err, fs.ErrNotExist) {
		if o.save == o.against {
			return nil, nil
		}
		return nil, usageError{fmt.Errorf("compare with %s: there is no such file\nhint: --save %s writes it", o.against, server.ShellWord(o.against))}
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	r := &verify.Report{}
	if err := json.Unmarshal(b, r); err != nil || r.Format == 0 {
		return nil, usageError{fmt.Errorf("compare with %s: it is no report of ramaria verify (%w)\nhint: --save writes one", o.against, cmp.Or(err, errors.New("no format")))}
	}
	if r.Format != verify.Format {
		return nil, usageError{fmt.Errorf("compare with %s: its format is %d, and this ramaria knows %d\nhint: --save writes another", o.against, r.Format, verify.Format)}
	}
	if r.Status == verify.Unrestorable {
		return nil, usageError{fmt.Errorf("compare with %s: that backup could not be restored\nhint: --save keeps reports of good backups alone", o.against)}
	}
	return r, nil
}

// keep writes the report of a good backup.
func (o *verifyOptions) keep(a *app, r *verify.Report) error {
	if o.save == "" {
		return nil
	}
	if r.Status != verify.Good {
		if _, err := os.Stat(o.save); err == nil {
			a.say("%s stays as it is, since the backup is not good\nhint: if what has changed is right, --save without --against takes it from now on", o.save)
		}
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(o.save, append(b, '\n'), 0o666&^a.callersUmask())
}

// writeMetrics writes the textfile.
func (o *verifyOptions) writeMetrics(a *app, r *verify.Report) error {
	if o.textfile == "" {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(o.textfile), ".prom")
	return replaceFile(o.textfile, []byte(r.Metrics(name)), 0o644&^a.callersUmask())
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
