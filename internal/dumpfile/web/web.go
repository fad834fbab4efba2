package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
)

const (
	// answerPatience is how long a server may take to begin its answer.
	answerPatience = time.Minute
	// maxRedirects is how often a server may send us on.
	maxRedirects = 10
)

// stallPatience is how long nothing may come of a dump that is being read.
var stallPatience = 2 * time.Minute

var errStalled = errors.New("nothing came for minutes")

// Dump is a dump that comes from elsewhere.
type Dump struct {
	// Name is its URL, as it may be shown.
	Name string
	// Size is in bytes; less than 0 where it is not known.
	Size int64

	ctx    context.Context //nolint:containedctx // that of the request, which the body ends with
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	// idle closes the connections.
	idle func()
	read int64
}

var _ io.ReadCloser = (*Dump)(nil)

// Open asks for a dump, as it is: compressed ones stay so. The caller closes it. The error matches ErrURL if the URL is wrong.
func Open(ctx context.Context, text string) (*Dump, error) {
	u, err := parse(text)
	if err != nil {
		return nil, err
	}
	d := &Dump{Name: Redacted(text)}
	d.ctx, d.cancel = context.WithCancelCause(ctx)
	if u == nil {
		err = d.openBucket(text)
	} else {
		err = d.open(u)
	}
	if err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

// end lets go of the connection.
func (d *Dump) end() {
	d.cancel(nil)
	if d.idle != nil {
		d.idle()
	}
}

// openBucket asks a bucket.
func (d *Dump) openBucket(text string) error {
	at, err := s3.ParseURL(text)
	if err != nil {
		return err
	}
	var key string
	at.Prefix, key = path.Split(at.Prefix)
	at.Prefix = path.Clean("/" + at.Prefix)[1:]
	store, err := s3.Open(at)
	if err != nil {
		return err
	}
	d.idle = store.Close
	d.body, d.Size, err = store.Stream(d.ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("fetch %s: there is no such object\nhint: name the whole key of a dump; the URL of an image ends with its id: ramaria image ls s3://BUCKET/PREFIX shows those that are there", d.Name)
	}
	return err
}

// open asks a web server.
func (d *Dump) open(u *url.URL) error {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.DisableCompression, transport.ResponseHeaderTimeout = true, answerPatience
	d.idle = transport.CloseIdleConnections
	q, err := http.NewRequestWithContext(d.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return urlError{fmt.Errorf("fetch %s: not the URL of a file", d.Name)}
	}
	answer, err := (&http.Client{Transport: transport, CheckRedirect: d.follow}).Do(q)
	if err != nil {
		return d.fault(err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return d.refused(answer.StatusCode)
	}
	d.body, d.Size = answer.Body, answer.ContentLength
	return nil
}

// errRedirect says that a server sent us where we do not go.
var errRedirect = errors.New("redirected")

// follow goes on to another URL only as safely as before.
func (d *Dump) follow(q *http.Request, before []*http.Request) error {
	q.Header.Del("Referer") // the query of a URL may be a secret
	last := before[len(before)-1].URL
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("%w more than %d times", errRedirect, maxRedirects)
	case q.URL.Scheme != secure && (last.Scheme == secure || q.URL.Scheme != insecure || !loopback(q.URL.Hostname())):
		return fmt.Errorf("%w to %s, which is not https", errRedirect, Redacted(q.URL.String()))
	}
	return nil
}

// refused says that a server has another answer than the dump.
func (d *Dump) refused(status int) error {
	hint := "is it there? curl -I shows what the server says"
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		hint = "give it with what it takes, a signed query or https://USER:PASSWORD@HOST/...; Ramaria keeps neither of them: to make an instance again, add --from once more"
	case http.StatusNotFound, http.StatusGone:
		hint = "look at the URL; one that was signed may have run out"
	}
	return fmt.Errorf("fetch %s: the server answered %d %s\nhint: %s", d.Name, status, http.StatusText(status), hint)
}

// fault says what failed, without the URL of the request, which errors repeat.
func (d *Dump) fault(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(context.Cause(d.ctx), errStalled):
		return fmt.Errorf("fetch %s: %w, after %s\nhint: try again", d.Name, errStalled, d.progress())
	case d.ctx.Err() != nil:
		return fmt.Errorf("fetch %s: %w", d.Name, d.ctx.Err())
	case errors.Is(err, errRedirect):
		return fmt.Errorf("fetch %s: %w\nhint: name the place where the dump is, by https", d.Name, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("fetch %s: the certificate of the server is not to be trusted: %w\nhint: SSL_CERT_FILE=CA.pem names the authority of your own servers", d.Name, certificate.Err)
	}
	if text := err.Error(); strings.Contains(text, "://") || strings.Contains(text, "Location") { // a URL, which may be a secret
		return fmt.Errorf("fetch %s: the server's answer is none: it leads to what is no URL\nhint: curl -I shows what it says", d.Name)
	}
	return fmt.Errorf("fetch %s: %w", d.Name, err)
}

// progress is how much has come.
func (d *Dump) progress() string {
	if d.Size < 0 {
		return fmt.Sprintf("%d bytes", d.read)
	}
	return fmt.Sprintf("%d of %d bytes", d.read, d.Size)
}

// errShort says that the rest of a dump did not come. It is no io.ErrUnexpectedEOF, which would be the file's fault.
var errShort = errors.New("the connection ended")

// Read returns the next bytes.
func (d *Dump) Read(p []byte) (int, error) {
	stall := time.AfterFunc(stallPatience, func() { d.cancel(errStalled) })
	n, err := d.body.Read(p)
	stall.Stop()
	d.read += int64(n)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && d.Size >= 0 && d.read < d.Size:
		return n, fmt.Errorf("fetch %s: %w after %s\nhint: try again", d.Name, errShort, d.progress())
	case errors.Is(err, io.EOF) && d.ctx.Err() == nil: // else a server may have ended what we ended
		return n, io.EOF
	}
	return n, d.fault(err)
}

// Close ends the request.
func (d *Dump) Close() error {
	err := d.body.Close()
	d.end()
	return err
}
