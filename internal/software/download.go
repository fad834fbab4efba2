package software

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// StallTimeout is how long a download may bring no byte.
	StallTimeout = 30 * time.Second
	// downloadTries is how often a download is begun or taken up again.
	downloadTries = 3
	// retryPause is the pause before another try.
	retryPause = 500 * time.Millisecond
)

// ErrStalled says that a download brought no byte for StallTimeout.
var ErrStalled = errors.New("the server stopped sending")

// ErrChecksum says that what was downloaded is not what was pinned.
var ErrChecksum = errors.New("wrong checksum")

// client honours the proxy of the environment and has no time limit in all: a slow
// download is fine as long as bytes come.
var client = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	ForceAttemptHTTP2:     true,
	DisableKeepAlives:     true, // one request per run; no idle connection stays behind
	TLSHandshakeTimeout:   StallTimeout,
	ResponseHeaderTimeout: StallTimeout,
}}

// download brings one file whose size and hash are known.
type download struct {
	url    string
	path   string // created by run, removed if it fails
	size   int64
	sha256 string
	stall  time.Duration // 0 means StallTimeout

	file *os.File
	sum  hash.Hash
	have int64 // bytes in file and sum
}

// run downloads; a try that broke off is taken up where it ended if the server can
// do that. seen is called with the bytes so far.
func (d *download) run(ctx context.Context, seen func(int64)) error {
	var err error
	if d.file, err = os.OpenFile(d.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	d.sum = sha256.New()
	if d.stall == 0 {
		d.stall = StallTimeout
	}
	err = errors.Join(d.tries(ctx, seen), d.file.Close())
	if err != nil {
		os.Remove(d.path)
	}
	return err
}

func (d *download) tries(ctx context.Context, seen func(int64)) error {
	for try := 1; ; try++ {
		again, err := d.once(ctx, seen)
		if err == nil {
			return d.check()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("get %s: %w", d.url, ctx.Err())
		}
		if !again || try == downloadTries {
			return fmt.Errorf("get %s: %w", d.url, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// once makes one request; again says whether another may do better.
func (d *download) once(ctx context.Context, seen func(int64)) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(d.stall, func() { cancel(fmt.Errorf("%w (no byte for %s)", ErrStalled, d.stall)) })
	defer watch.Stop()
	defer func() {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrStalled) {
			err = context.Cause(ctx)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return false, err
	}
	if d.have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.have))
	}
	resp, err := client.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	if err := d.position(resp); err != nil {
		return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, err
	}
	return d.copy(resp.Body, func() { watch.Reset(d.stall); seen(d.have) })
}

// position goes on at the end of the file, or goes back to its beginning if the
// server sends all of it.
func (d *download) position(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusPartialContent && d.have > 0:
		if want := fmt.Sprintf("bytes %d-%d/%d", d.have, d.size-1, d.size); resp.Header.Get("Content-Range") != want {
			return fmt.Errorf("the server sends %q, not %q: %w", resp.Header.Get("Content-Range"), want, ErrChecksum)
		}
		return nil
	case resp.StatusCode == http.StatusOK:
		d.have = 0
		d.sum.Reset()
		_, err := d.file.Seek(0, io.SeekStart)
		return errors.Join(err, d.file.Truncate(0))
	default:
		return fmt.Errorf("the server answers %s", resp.Status)
	}
}

// copy adds the body to the file. Errors of writing are final, errors of reading not.
func (d *download) copy(body io.Reader, alive func()) (again bool, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if d.have+int64(n) > d.size {
				return false, fmt.Errorf("more than %d bytes: %w", d.size, ErrChecksum)
			}
			if _, err := d.file.Write(buf[:n]); err != nil {
				return false, err
			}
			d.sum.Write(buf[:n])
			d.have += int64(n)
			alive()
		}
		if err == io.EOF && d.have < d.size {
			return true, fmt.Errorf("%d of %d bytes came: %w", d.have, d.size, io.ErrUnexpectedEOF)
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return true, err
		}
	}
}

func (d *download) check() error {
	if got := hex.EncodeToString(d.sum.Sum(nil)); got != d.sha256 {
		return fmt.Errorf("get %s: %w: SHA-256 is %s, must be %s", d.url, ErrChecksum, got, d.sha256)
	}
	return nil
}
