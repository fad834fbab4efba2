package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// kindArchive is an archive of a durable instance, or a copy of one in a bucket.
const kindArchive = "archive"

// byLog says what tells when an archive last changed.
const byLog = "the last transaction of its log"

// archiveMeant is the archive that a backup is, as ramaria restore takes it: the name of an instance, the URL of a bucket,
// a path; "" for another backup.
func (e *Engine) archiveMeant(named string) (string, error) {
	switch fi, err := os.Stat(named); {
	case named == Stdin:
		return "", nil
	case instance.IsBucket(named), errors.Is(err, fs.ErrNotExist) && e.leftArchive(named):
		return named, nil
	case err == nil && fi.IsDir() && durable.Exists(named):
		return filepath.Abs(named)
	}
	return "", nil
}

// leftArchive reports whether an instance of that name has, or has left, an archive.
func (e *Engine) leftArchive(name string) bool {
	if instance.CheckName(name) != nil {
		return false
	}
	_, err := e.findArchive(name)
	return err == nil
}

// restore restores the archive at from as ramaria restore does, in an instance that goes away.
func (v *verification) restore(ctx context.Context, from string) error {
	v.report.Kind = kindArchive
	began := time.Now()
	var r *restoration
	defer func() {
		if r != nil {
			_ = r.close() // it was read only
		}
	}()
	used := false
	err := v.e.passing(ctx, func(name string) (i *instance.Instance, err error) {
		q := RestoreRequest{Source: from, New: name, Spec: instance.Spec{
			Server: v.q.Server, Volume: v.q.Volume, User: image.DefaultUser,
			// What the archive has stays as it is: no event changes it.
			Set: map[string]string{"event_scheduler": "OFF"},
		}}
		if r, err = v.e.prepareRestore(ctx, q, nil); err != nil {
			return nil, err
		}
		r.order.Passing = true
		v.report.Server, v.report.MadeBy = r.order.Server.Name(), r.kept.Server.Name()
		return r.make(ctx)
	}, func(i *instance.Instance) error {
		used = true
		v.report.RestoreSeconds = time.Since(began).Seconds()
		at := r.done.Time
		if at.IsZero() {
			at = r.done.Base.Time
		}
		v.changed(at, byLog)
		db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
		if err != nil {
			return err
		}
		defer db.Close()
		v.server = i.Server
		return v.checkAll(ctx, db, func() string { return server.LogTail(i.LogPath()) })
	})
	if err != nil && !used && ctx.Err() == nil && faultOfArchive(err) {
		if r != nil {
			err = r.explain(err)
		}
		return image.NewUnfitError(err)
	}
	return err
}

// faultOfArchive reports whether an archive, or a bucket, lacks what it must have, or has it damaged.
func faultOfArchive(err error) bool {
	var broken *durable.BrokenError
	var damaged *archive.DamagedError
	var missing *archive.MissingError
	var inBucket *bucket.DamagedError
	return errors.As(err, &broken) || errors.As(err, &damaged) || errors.As(err, &missing) || errors.As(err, &inBucket)
}
