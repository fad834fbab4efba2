package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

// reachPatience is how long `up` waits for the buckets of an instance that starts, at most: it starts without them.
const reachPatience = 5 * time.Second

// openBucket opens a place in a bucket. Nothing is asked of the service yet.
func openBucket(url string) (*s3.Store, error) {
	at, err := s3.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return s3.Open(at)
}

// bucketsOf are the buckets of an instance as its supervisor takes them.
func bucketsOf(spec instance.Spec) []supervisor.Bucket {
	var list []supervisor.Bucket
	for _, url := range spec.Buckets() {
		b := supervisor.Bucket{URL: url}
		if s, err := openBucket(url); err != nil {
			b.Err = err
		} else {
			b.Store = s
		}
		list = append(list, b)
	}
	return list
}

// mergeArchive is where an archive is that was in one list of places and is asked to be in another: what is not
// spoken of stays, the directory or the buckets.
func mergeArchive(was, now []string) []string {
	before, next := instance.Spec{Archive: was}, instance.Spec{Archive: now}
	dir, buckets := next.ArchiveDir(), next.Buckets()
	if dir == "" {
		dir = before.ArchiveDir()
	}
	if len(buckets) == 0 {
		buckets = before.Buckets()
	}
	var list []string
	if dir != "" {
		list = append(list, dir)
	}
	for _, b := range buckets {
		if b != instance.NoBuckets {
			list = append(list, knownBucket(before.Buckets(), b))
		}
	}
	return list
}

// knownBucket is the URL by which a bucket is known, if it is, where the one that is given does not say at which
// service it is: that came from the environment then.
func knownBucket(known []string, url string) string {
	given, err := s3.ParseURL(url)
	if err != nil || given.Endpoint != "" || given.Region != "" {
		return url
	}
	for _, k := range known {
		if at, err := s3.ParseURL(k); err == nil && at.Bucket == given.Bucket && at.Prefix == given.Prefix {
			return k
		}
	}
	return url
}

// added are the buckets that an instance did not have.
func added(was, now instance.Spec) []string {
	return slices.DeleteFunc(slices.Clone(now.Buckets()), func(url string) bool { return slices.Contains(was.Buckets(), url) })
}

// probeBuckets refuses buckets that a new archive cannot have: they hold something, or cannot be reached. Nothing is
// written.
func (e *Engine) probeBuckets(ctx context.Context, urls []string) error {
	for _, url := range urls {
		err := withBucket(url, func(s *s3.Store) error {
			id, err := bucket.Whose(ctx, s)
			if err == nil {
				err = fmt.Errorf("archive %s is there: %w; or ramaria restore %s --as NEW, which makes an instance of what is there", archive.ID(id), bucket.ErrForeign, server.ShellWord(url))
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return bucketError(url, err)
		}
	}
	return nil
}

// bucketError says which bucket cannot be used. One that is taken is the request's fault.
func bucketError(url string, err error) error {
	err = fmt.Errorf("use bucket %s: %w", url, err)
	if errors.Is(err, bucket.ErrForeign) {
		return RequestError{err}
	}
	return err
}

// withBucket calls f with a place in a bucket.
func withBucket(url string, f func(*s3.Store) error) error {
	s, err := openBucket(url)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// claimBuckets makes places in buckets those of an archive. release gives up those that were nobody's before.
func (e *Engine) claimBuckets(ctx context.Context, id archive.ID, urls []string) (release func(), err error) {
	var mine []string
	release = func() {
		clean := context.WithoutCancel(ctx)
		for _, url := range mine {
			err := withBucket(url, func(s *s3.Store) error { return (&bucket.Mirror{Archive: id, Store: s}).Release(clean) })
			if err != nil {
				e.note("warning: object archive.json of an archive that came to nothing stays in bucket %s: %s", url, oneLine(err))
			}
		}
	}
	for _, url := range urls {
		err := withBucket(url, func(s *s3.Store) error {
			_, err := bucket.Whose(ctx, s)
			if errors.Is(err, fs.ErrNotExist) {
				mine = append(mine, url)
			}
			return (&bucket.Mirror{Archive: id, Store: s}).Check(ctx)
		})
		if err != nil {
			release()
			return nil, bucketError(url, err)
		}
	}
	return release, nil
}

// reachBuckets begins to look whether the buckets of an instance that is about to start can be used. What it returns
// waits for that, for a while, and says which cannot: the instance runs without them.
func (e *Engine) reachBuckets(ctx context.Context, i *instance.Instance) (tell func()) {
	urls := i.Spec.Buckets()
	if len(urls) == 0 || i.Durable == nil {
		return func() {}
	}
	var id archive.ID
	if err := id.UnmarshalText([]byte(i.Durable.Archive)); err != nil {
		return func() {} // the supervisor says what is wrong
	}
	limited, cancel := context.WithTimeout(ctx, reachPatience)
	found := make([]chan error, len(urls))
	for n, url := range urls {
		found[n] = make(chan error, 1)
		go func() {
			found[n] <- withBucket(url, func(s *s3.Store) error { return (&bucket.Mirror{Archive: id, Store: s}).Check(limited) })
		}()
	}
	return func() {
		defer cancel()
		for n, url := range urls {
			err := <-found[n]
			if err == nil || ctx.Err() != nil {
				continue
			}
			text, hint := splitHint(err)
			if hint != "" {
				hint = "\nhint: " + hint + fmt.Sprintf("; then ramaria down %s && ramaria up %[1]s", i.Name)
			}
			e.note("warning: instance %s runs, and no commit is lost, but bucket %s lacks what it commits: %s%s", i.Name, url, text, hint)
		}
	}
}

// leaveBuckets says that copies of an archive stay in buckets when its instance, or the archive, is removed.
func (e *Engine) leaveBuckets(r *instance.Record) {
	for _, url := range r.Spec.Buckets() {
		e.note("bucket %s keeps its copy of the archive of instance %s\nhint: ramaria restore %s --as %s --durable brings the instance back; your tool for buckets removes the copy", url, r.Name, server.ShellWord(url), r.Name)
	}
}

// PeekBucket reads the manifest of an archive in a bucket.
func PeekBucket(ctx context.Context, url string) (m *archive.Manifest, err error) {
	err = withBucket(url, func(s *s3.Store) error {
		text, err := bucket.Peek(ctx, s)
		if err != nil {
			return err
		}
		m, err = archive.ParseManifest(text)
		return err
	})
	return m, noArchive(url, err)
}

// noArchive says of what is not in a bucket that there is no archive.
func noArchive(url string, err error) error {
	if errors.Is(err, bucket.ErrNothing) {
		return fmt.Errorf("%w in %s: it has no manifest.json, which comes with the first base backup", archive.ErrNoArchive, url)
	}
	return err
}

// fromBucket is what a hint says where an archive is lost of which a bucket has a copy.
func fromBucket(r *instance.Record) string {
	if len(r.Spec.Buckets()) == 0 {
		return ""
	}
	return fmt.Sprintf("; or, of its copy, ramaria rm %s && ramaria restore %s --as %[1]s --durable", r.Name, server.ShellWord(r.Spec.Buckets()[0]))
}
