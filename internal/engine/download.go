package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// lockSuffix is of the file whose lock is held while a directory beside it is downloaded to and read from.
const lockSuffix = ".lock"

func (e *Engine) downloadsDir() string { return filepath.Join(e.Places.State, "downloads") }

// newDownload makes a directory for what is downloaded and needed for a while. done removes it; where that is killed,
// sweepDownloads does.
func (e *Engine) newDownload(ctx context.Context) (dir string, done func() error, err error) {
	if err := sys.MakePrivate(e.downloadsDir()); err != nil {
		return "", nil, fmt.Errorf("download archive: %w", err)
	}
	dir = filepath.Join(e.downloadsDir(), strings.ToLower(rand.Text()))
	lock, err := sys.Lock(ctx, dir+lockSuffix, sys.Exclusive, nil)
	if err != nil {
		return "", nil, fmt.Errorf("download archive: %w", err)
	}
	done = func() error { return errors.Join(sys.RemoveTree(dir), lock.UnlockRemove()) }
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, errors.Join(fmt.Errorf("download archive: %w", err), done())
	}
	return dir, done, nil
}

// sweepDownloads removes what killed commands have downloaded.
func (e *Engine) sweepDownloads() error {
	entries, err := os.ReadDir(e.downloadsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep downloads: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		name, isLock := strings.CutSuffix(entry.Name(), lockSuffix)
		if !isLock {
			continue
		}
		dir := filepath.Join(e.downloadsDir(), name)
		lock, err := sys.TryLock(dir+lockSuffix, sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // it is being used
		}
		if err == nil {
			err = errors.Join(sys.RemoveTree(dir), lock.UnlockRemove())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep downloads: %w", err))
		}
	}
	return errors.Join(errs...)
}

// fetchArchive brings the archive in a bucket to this machine: to the archive's directory if the instance goes on
// with it, else, as much as it takes, to a place of which done removes it.
func (e *Engine) fetchArchive(ctx context.Context, q *RestoreRequest, old *instance.Record) (dir string, done func() error, err error) {
	m, err := PeekBucket(ctx, q.Source)
	if err != nil {
		return "", nil, fmt.Errorf("restore %s: %w", q.Source, err)
	}
	goesOn, err := e.goesOnInBucket(q, old, m)
	if err != nil {
		return "", nil, err
	}
	if !goesOn {
		if dir, done, err = e.newDownload(ctx); err != nil {
			return "", nil, err
		}
		if err := e.download(ctx, q, dir, false); err != nil {
			return "", nil, errors.Join(err, done())
		}
		return dir, done, nil
	}
	dir = e.archiveDir(q.New, q.Spec)
	if err := e.checkDurable(q.New, q.Spec, false); err != nil {
		return "", nil, err
	}
	if err := sys.MakePrivate(dir); err != nil {
		return "", nil, fmt.Errorf("download archive: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:forbidigo // the user's own directory, which no server can write to
		return "", nil, fmt.Errorf("download archive: %w", err)
	}
	return dir, func() error { return nil }, e.download(ctx, q, dir, true)
}

// goesOnInBucket reports whether a new instance goes on with an archive that is in a bucket: it is durable, and either
// the bucket is to have its archive, or the archive is of an instance of that name. The bucket is one of its own then.
func (e *Engine) goesOnInBucket(q *RestoreRequest, old *instance.Record, m *archive.Manifest) (bool, error) {
	if old != nil || !levelOf(q.Spec).Durable() {
		return false, nil
	}
	given := q.Spec.Buckets()
	i := slices.IndexFunc(given, func(url string) bool { return sameBucket(url, q.Source) })
	if i < 0 && (len(given) > 0 || m.Instance != q.New) {
		return false, nil
	}
	records, err := e.Registry.List()
	if err != nil {
		return false, err
	}
	for _, r := range records {
		if slices.ContainsFunc(r.Spec.Buckets(), func(url string) bool { return sameBucket(url, q.Source) }) {
			return false, RequestError{fmt.Errorf("restore instance %s: %s has the archive of instance %s, and an archive goes on with one\nhint: --archive DIR and another name, or --archive s3://BUCKET/OTHER-PREFIX, begin another; without --durable none is needed", q.New, q.Source, r.Name)}
		}
	}
	if i < 0 {
		q.Spec.Archive = mergeArchive(q.Spec.Archive, []string{q.Source})
	}
	return true, nil
}

// sameBucket reports whether two URLs are of one place, as far as both say which.
func sameBucket(a, b string) bool {
	x, xerr := s3.ParseURL(a)
	y, yerr := s3.ParseURL(b)
	return xerr == nil && yerr == nil && x.Bucket == y.Bucket && x.Prefix == y.Prefix && (x.Endpoint == y.Endpoint || x.Endpoint == "" || y.Endpoint == "")
}

// download fetches all of an archive, or what it takes to restore what is asked for.
func (e *Engine) download(ctx context.Context, q *RestoreRequest, dir string, all bool) error {
	choose := func(m *archive.Manifest) (archive.Base, error) {
		plans, err := durable.Plans(m, q.Until)
		if err != nil {
			return archive.Base{}, err
		}
		return plans[0].Base, nil
	}
	if all {
		choose = nil
	}
	show := e.meters("downloading " + q.New)
	var bytes int64
	err := withBucket(q.Source, func(s *s3.Store) error {
		_, err := durable.Download(s, dir, q.AcceptLoss, choose, func(done, total int64) {
			bytes = done
			show.progress("from the bucket", done, total)
		}).Run(ctx)
		return err
	})
	show.close()
	if err != nil {
		return explainRestore(fmt.Errorf("restore %s: %w", q.Source, noArchive(q.Source, err)), q.Source, restoreBefore(q.Source, q.New), "--accept-loss")
	}
	e.note("downloaded %s of the archive in %s", volume.FormatBytes(bytes), q.Source)
	return nil
}
