// Package s3 is the store of a bucket in AWS S3, or in a service that speaks its protocol. It alone
// imports a client of that.
//
// Its invariant: credentials get into requests only, never into an error, a log or a file.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ramaria-db/ramaria/internal/bucket"
)

// Store is a prefix of a bucket.
type Store struct {
	core minio.Core
	at   Location
	// anonymous says that no credentials were found.
	anonymous func() bool
	// idle closes the connections that no call uses.
	idle func()
	// md5s says that the service has answered with the MD5 of an object as its ETag.
	md5s atomic.Bool
}

// Open returns the store at a location. Nothing is asked of the service yet. Credentials come from
// the AWS_* or MINIO_* environment, the AWS credentials file, or the machine's role, when they are
// needed.
func Open(l Location) (*Store, error) {
	host, secure, err := l.host()
	if err != nil {
		return nil, err
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}},
	})
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", l, err)
	}
	transport.ResponseHeaderTimeout = answerPatience
	client, err := minio.New(host, &minio.Options{
		Creds: creds, Secure: secure, Region: l.region(), Transport: transport,
		MaxRetries: 1, // the mirror tries again, for as long as it takes
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", l, err)
	}
	return &Store{core: minio.Core{Client: client}, at: l, idle: transport.CloseIdleConnections, anonymous: func() bool {
		v, err := creds.GetWithContext(client.CredContext())
		return err == nil && v.AccessKeyID == ""
	}}, nil
}

var _ bucket.Store = (*Store)(nil)

const (
	// patience is how long a call may take, and slowest how many bytes a second it must move at least.
	patience = 20 * time.Second
	slowest  = 128 << 10
	// roleTimeout is how long the machine may take to answer for its role: on one that has none nothing answers.
	roleTimeout = 3 * time.Second
	// patienceList is for all pages of a listing.
	patienceList = 10 * time.Minute
)

// answerPatience is how long a service may take to begin its answer. Without it a listing that hangs would hold up
// the mirror for as long as a long one may take.
var answerPatience = patience

var errSlow = errors.New("the service did not answer in time")

// within bounds the time of a call: a connection may hang for ever.
func within(ctx context.Context, d time.Duration, size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d+time.Duration(size)*time.Second/slowest, errSlow)
}

// Close ends the use of the store.
func (s *Store) Close() { s.idle() }

// key is the name of an object in the bucket.
func (s *Store) key(name string) string {
	if s.at.Prefix == "" {
		return name
	}
	return s.at.Prefix + "/" + name
}

// Put implements bucket.Store. The service checks what it gets by its MD5: all services know that one. Then it is asked
// what it has.
func (s *Store) Put(ctx context.Context, name string, b []byte) error {
	ctx, stop := within(ctx, patience, int64(len(b)))
	defer stop()
	said, err := s.core.Client.PutObject(ctx, s.at.Bucket, s.key(name), bytes.NewReader(b), int64(len(b)), minio.PutObjectOptions{
		ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: true, DisableMultipart: true,
	})
	if err != nil {
		return s.fault(ctx, "put", name, err)
	}
	return s.verify(ctx, name, b, said.ETag)
}

// Get implements bucket.Store.
func (s *Store) Get(ctx context.Context, name string) ([]byte, error) {
	ctx, stop := within(ctx, patience, bucket.MaxObject)
	defer stop()
	body, _, _, err := s.core.GetObject(ctx, s.at.Bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.fault(ctx, "get", name, err)
	}
	b, err := io.ReadAll(io.LimitReader(body, bucket.MaxObject+1))
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, s.fault(ctx, "get", name, err)
	}
	if len(b) > bucket.MaxObject {
		return nil, s.fault(ctx, "get", name, fmt.Errorf("it has more than %d bytes", bucket.MaxObject))
	}
	return b, nil
}

// List implements bucket.Store.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[bucket.Object, error] {
	return func(yield func(bucket.Object, error) bool) {
		ctx, stop := within(ctx, patienceList, 0)
		defer stop()
		opts := minio.ListObjectsOptions{Prefix: s.key(prefix), Recursive: true}
		if after != "" {
			opts.StartAfter = s.key(after)
		}
		for o := range s.core.ListObjectsIter(ctx, s.at.Bucket, opts) {
			if o.Err != nil {
				yield(bucket.Object{}, s.fault(ctx, "list", prefix, o.Err))
				return
			}
			if !yield(bucket.Object{Name: strings.TrimPrefix(o.Key, s.key("")), Size: o.Size}, nil) {
				return
			}
		}
	}
}

// Remove implements bucket.Store.
func (s *Store) Remove(ctx context.Context, name string) error {
	ctx, stop := within(ctx, patience, 0)
	defer stop()
	return s.fault(ctx, "remove", name, s.core.RemoveObject(ctx, s.at.Bucket, s.key(name), minio.RemoveObjectOptions{}))
}

// fault says what failed, without what a service or proxy may repeat of the request.
func (s *Store) fault(ctx context.Context, verb, name string, err error) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf("%s s3://%s/%s", verb, s.at.Bucket, s.key(name))
	var request *url.Error // its URL says the same again
	if errors.As(err, &request) {
		err = request.Err
	}
	var answer minio.ErrorResponse
	var late net.Error
	switch {
	case ctx.Err() == nil && errors.As(err, &late) && late.Timeout():
		return fmt.Errorf("%s: %w", what, errSlow)
	case errors.Is(context.Cause(ctx), errSlow), errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, errSlow)
	case !errors.As(err, &answer):
		return fmt.Errorf("%s: %w", what, err)
	case answer.Code == minio.NoSuchKey:
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	case answer.Code == minio.NoSuchBucket:
		return fmt.Errorf("%s: the bucket does not exist\nhint: make it, or name another", what)
	case answer.StatusCode == http.StatusForbidden && s.anonymous():
		return fmt.Errorf("%s: %s, and no credentials were found\nhint: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials", what, answer.Code)
	case answer.StatusCode == http.StatusForbidden, answer.Code == "ExpiredToken", answer.Code == "InvalidToken":
		return fmt.Errorf("%s: %s (%d)\nhint: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if there is one, AWS_SESSION_TOKEN, or ~/.aws/credentials, to credentials that may read, write, list and delete there", what, answer.Code, answer.StatusCode)
	}
	return fmt.Errorf("%s: %s (%d)", what, answer.Code, answer.StatusCode)
}
