package durable

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// BucketState is how a bucket stands, as the supervisor last found it.
type BucketState struct {
	client.Bucket
	// Behind is since when the oldest of what it lacks has waited; zero if it lacks nothing.
	Behind time.Time `json:"behind"`
}

// StateOf says how a mirror of a bucket stands.
func StateOf(url string, s bucket.Status) BucketState {
	b := BucketState{Bucket: client.Bucket{URL: url}}
	if s.Epoch != 0 {
		b.Position = FormatPosition(s.Epoch, s.Uploaded)
	}
	if !s.Manifest.IsZero() {
		at := s.Manifest.Truncate(time.Second)
		b.Complete = &at
	}
	if s.Lag > 0 {
		b.Behind = time.Now().Add(-s.Lag)
	}
	if s.Err != nil {
		b.Error = s.Err.Error()
	}
	b.InSync = s.Err == nil && s.Lag == 0 && b.Complete != nil
	return b
}

// Buckets says how the buckets of an instance stand, by its files alone. archived is up to where its archive has the
// log: what the supervisor found may be a second old.
func Buckets(r *instance.Record, archived string) ([]client.Bucket, error) {
	urls := r.Spec.Buckets()
	if len(urls) == 0 {
		return nil, nil
	}
	var found []BucketState
	if err := instance.ReadJSON(r.BucketsPath(), &found); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := make([]client.Bucket, len(urls))
	for i, url := range urls {
		list[i].URL = url
		for _, f := range found {
			if f.URL != url {
				continue
			}
			list[i] = f.Bucket
			if !f.Behind.IsZero() {
				list[i].LagSeconds = time.Since(f.Behind).Seconds()
			}
			begun := !strings.HasSuffix(archived, ":"+archive.Position{}.String()) // else there is nothing to have
			list[i].InSync = f.InSync && (!begun || f.Position == archived)
		}
	}
	return list, nil
}
