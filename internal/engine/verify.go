package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/backups"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/verify"
)

// VerifyRequest asks whether a backup is one.
type VerifyRequest struct {
	// Backup is a file, a directory, Stdin ("-"), the URL of a bucket, or the name of an instance that has an archive.
	Backup string
	// Source is what Backup means, where that is another text; "" for the same.
	Source string
	// Server is the software to restore with, "" for what the backup says.
	Server string
	// Volume is where it is restored, KIND[:SIZE].
	Volume  string
	Options verify.Options
	Bounds  verify.Bounds
	// Against is the report of the last time, nil for none.
	Against *verify.Report
	Stdin   io.Reader
}

// Verify restores a backup into a server of its own, of which nothing stays, checks everything in it, and compares with
// the last time. The backup itself is only read. An error is one that says nothing about the backup: no server, no room.
// It matches backups.ErrNone if there is none.
func (e *Engine) Verify(ctx context.Context, q VerifyRequest) (*verify.Report, error) {
	r := &verify.Report{
		Format: verify.Format, Backup: q.Backup, Verified: time.Now().Truncate(time.Second), Tables: []verify.Table{}, Objects: []verify.Object{},
		Problems: []verify.Finding{}, Changes: []verify.Finding{}, Notes: []verify.Finding{},
	}
	v := &verification{e: e, q: q, report: r}
	err := v.run(ctx)
	_, damaged := errors.AsType[*dump.Error](err)
	if _, unfit := errors.AsType[image.UnfitError](err); (unfit || damaged) && ctx.Err() == nil {
		r.Error, err = err.Error(), nil
	}
	if err != nil {
		return nil, err
	}
	if r.Error == "" {
		r.Judge(q.Bounds, time.Now())
		if q.Against != nil {
			r.Compare(q.Against, q.Bounds)
		}
	}
	r.Conclude()
	return r, nil
}

// verification is a Verify at work.
type verification struct {
	e      *Engine
	q      VerifyRequest
	report *verify.Report
	source *backups.Backup // nil for an archive
	server *server.Server  // that runs on it
}

// run restores the backup, and has it checked.
func (v *verification) run(ctx context.Context) error {
	named := cmp.Or(v.q.Source, v.q.Backup)
	archive, err := v.e.archiveMeant(named)
	if err != nil {
		return err
	}
	if archive != "" {
		return v.restore(ctx, archive)
	}
	if named != Stdin {
		if err := v.open(ctx, named); err != nil {
			return err
		}
	}
	return v.try(ctx)
}

// open finds out what the backup at a path is, and has the report say what made it, and when, as far as it says so.
func (v *verification) open(ctx context.Context, path string) error {
	b, err := backups.Open(ctx, v.q.Backup, path)
	if b != nil {
		v.source, v.report.Kind, v.report.MadeBy = b, b.Kind, b.Made.Text
		v.changed(b.Changed, b.ChangedBy)
	}
	return asRequest(err)
}

// try restores what a server loads or starts on.
func (v *verification) try(ctx context.Context) error {
	if err := checkFileLimit(); err != nil {
		return err
	}
	vol, err := v.e.openVolume(ctx, v.q.Volume)
	if err != nil {
		return err
	}
	found := stand(vol.Kind(), vol.Dir())
	if err := errors.Join(v.e.sweep(ctx, vol), v.e.sweepTempMarks(ctx)); err != nil {
		return err
	}
	images, err := v.e.Images(vol)
	if err != nil {
		return err
	}
	if v.source == nil {
		spool, err := images.Spool(ctx, image.Spooled{From: v.q.Stdin})
		if err != nil {
			return err
		}
		defer spool.Close() //nolint:errcheck // the next command sweeps what is left
		if err := v.open(ctx, spool.Path); err != nil {
			return err
		}
		v.source.Modified = time.Time{} // that of the spool
	}
	if v.server, err = v.source.Server(ctx, v.q.Server, v.e.Finder()); err != nil {
		return asRequest(err)
	}
	v.report.Server = v.server.Name()
	q := image.TrialRequest{Recipe: image.Recipe{
		Server: v.server, From: []image.Source{{Kind: image.FromPath, Name: v.source.Path}}, Database: v.source.Database, User: image.DefaultUser, AllowEmpty: true,
	}}
	if err := v.physical(ctx, &q); err != nil {
		return asRequest(err)
	}
	return found.explain(ctx, images.Try(ctx, q, v.check))
}

// physical completes the trial of a physical backup.
func (v *verification) physical(ctx context.Context, q *image.TrialRequest) error {
	p := v.source.Physical
	if p == nil {
		return nil
	}
	q.Set = p.Set
	if p.Unpack != nil {
		q.From, q.Fill, q.Need, q.Name = nil, p.Unpack, p.Size, "stream "+v.q.Backup
	}
	if p.Prepared {
		return nil
	}
	program, err := v.source.Preparer(ctx, v.e.Finder())
	if err != nil {
		return err
	}
	prepare := v.source.Prepare(program)
	q.Prepare = func(ctx context.Context, d image.TrialDir) error {
		v.e.note("preparing the copy by %s", filepath.Base(program.Path()))
		return prepare(ctx, d)
	}
	return nil
}

// changed notes when the backup last changed, unless that is known better.
func (v *verification) changed(at time.Time, by string) {
	if v.report.LastChange == nil && !at.IsZero() {
		v.report.LastChange, v.report.LastChangeBy = &at, by
	}
}

// check has all that a server holds checked.
func (v *verification) check(ctx context.Context, t image.Trial) error {
	v.report.RestoreSeconds = t.Took.Seconds()
	if at := oldest(t.Ends); !at.IsZero() {
		v.report.LastChange = nil
		v.changed(at, backups.ByDumper)
	}
	db, err := dbconn.Open(t.Socket, t.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	return v.checkAll(ctx, db, t.LogTail)
}

// oldest is when the oldest of some dumps was completed, by their ends: what they hold together is no younger.
func oldest(ends [][]byte) (oldest time.Time) {
	for _, end := range ends {
		if at := backups.CompletedAt(end); !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest
}

// checkAll checks what a server holds; what its log says is told where it died.
func (v *verification) checkAll(ctx context.Context, db *sql.DB, logTail func() string) error {
	if v.source != nil {
		v.changed(v.source.Modified, backups.ByFile)
	}
	began := time.Now()
	w, terminal := v.e.progress()
	var meter *progress.Meter
	o := v.q.Options
	o.Loaded = v.source != nil && v.source.Loaded()
	o.Users = v.server.Dialect().Users
	o.Checked = func(done, of int) {
		if meter == nil {
			meter = progress.NewMeter(w, terminal, "checking tables", int64(of))
		}
		meter.Set(int64(done))
	}
	err := verify.Run(ctx, db, v.report, o)
	if meter != nil {
		_ = meter.Close() // nothing of it stays
	}
	v.report.CheckSeconds = time.Since(began).Seconds()
	if err != nil {
		return fmt.Errorf("check %s: %w", v.q.Backup, err)
	}
	for i, p := range v.report.Problems {
		if p.Kind == verify.ServerDied {
			v.report.Problems[i].Text += "\n" + cmp.Or(logTail(), "its log is empty")
		}
	}
	return nil
}
