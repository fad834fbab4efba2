package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// MaxIdle is how many connections a Client keeps that no call uses.
	MaxIdle = 16
	// maxKept is for how long one is kept: well below the minute after which the
	// instance closes it, so that the two do not cross.
	maxKept = 30 * time.Second
	// maxFraming is the size, in bytes, of the most that is read of an answer beside
	// its body: headers, and the lengths of chunks.
	maxFraming = 64 << 10
)

// conns are the connections to one socket. They take the place of an http.Transport,
// which has two goroutines for each connection that it keeps: a Client would have to be
// closed, and a short call takes twice as long because it passes through them. Nor does it
// send a POST again that found its connection closed, though nothing of it was sent
// (net/http, persistConn.shouldRetryRequest).
type conns struct {
	socket string
	// remote is the instance on another machine that socket is the URL of, nil for a socket, and wrong why it cannot be
	// one.
	remote *remote
	wrong  error

	mu     sync.Mutex
	idle   []*conn // the last used last
	closed bool
}

// conn is a connection, used by one call at a time.
type conn struct {
	net.Conn
	// kept says that another call used it before.
	kept  bool
	since time.Time // that it is idle
	in    io.LimitedReader
	r     *bufio.Reader
}

// answer is what an instance answered.
type answer struct {
	status      int
	reason      string // the status in words, as in "502 Bad Gateway"
	contentType string
	// body is the beginning of the answer's, of at most maxAnswer+1 bytes.
	body []byte
}

// exchange sends a request and returns its answer.
//
// A kept connection may have been closed by an instance that ended, and another
// instance may be there by now. Then the request is sent once more, on a new
// connection; but only if it is certain that the server has not acted on it.
func (p *conns) exchange(req *http.Request) (answer, error) {
	if p.wrong != nil {
		return answer{}, p.wrong
	}
	if p.remote != nil {
		p.remote.sign(req)
	}
	var out bytes.Buffer // all at once, so that Write tells whether anything was sent
	if err := req.Write(&out); err != nil {
		return answer{}, err
	}
	ctx := req.Context()
	c, err := p.get(ctx)
	if err != nil {
		return answer{}, err
	}
	kept := c.kept // after ask it is another call's
	a, unseen, err := p.ask(c, req, out.Bytes())
	if kept && unseen && ctx.Err() == nil {
		if c, err = p.open(ctx); err != nil {
			return answer{}, err
		}
		a, _, err = p.ask(c, req, out.Bytes())
	}
	return a, err
}

// ask makes one exchange on c, and keeps or closes it. unseen is true if it failed and
// the instance has not seen the whole request, without which it does nothing.
func (p *conns) ask(c *conn, req *http.Request, out []byte) (a answer, unseen bool, err error) {
	ctx := req.Context()
	// Closing is also how the instance learns that the call was given up.
	stop := context.AfterFunc(ctx, func() { c.Close() })
	sent, writeErr := c.Write(out)
	c.in.N = maxAnswer + maxFraming
	whole := false
	if sent == 0 && writeErr != nil {
		err = fmt.Errorf("send request: %w", writeErr)
	} else {
		// Also after half a request: one that is too large is answered before its end.
		a, whole, err = c.read(req)
	}
	if !stop() && err != nil {
		err = context.Cause(ctx) // and not that the connection is closed
	}
	if whole && ctx.Err() == nil && writeErr == nil {
		p.put(c)
	} else {
		c.Close()
	}
	// A Unix socket that is closed with something unread in it resets the connection, and
	// one with nothing ends it (unix_release_sock in net/unix/af_unix.c). Of an
	// instance that had read the request one cannot know whether it acted on it; nor can one
	// by a reset of TCP.
	unseen = err != nil && (writeErr != nil || p.remote == nil && errors.Is(err, syscall.ECONNRESET))
	return a, unseen, hungUp(err)
}

// read reads an answer. It is whole if the next byte would be another answer's.
func (c *conn) read(req *http.Request) (_ answer, whole bool, err error) {
	resp, err := http.ReadResponse(c.r, req)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF // which it was
	}
	if err != nil {
		return answer{}, false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	a := answer{resp.StatusCode, resp.Status, resp.Header.Get("Content-Type"), body}
	return a, len(body) <= maxAnswer && !resp.Close && c.r.Buffered() == 0, nil
}

// hungUp says in words what an instance did that ended in the middle of a call.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("it hung up before it answered: %w\nhint: ramaria status", err)
	}
	return err
}

// get returns a connection, a kept one if there is one on which nothing happened.
func (p *conns) get(ctx context.Context) (*conn, error) {
	for {
		c := p.take()
		if c == nil {
			return p.open(ctx)
		}
		// Without the monotonic clock, which stands still while the machine sleeps.
		if time.Now().Round(0).Sub(c.since) < maxKept && quiet(c.Conn) {
			return c, nil
		}
		c.Close()
	}
}

// take takes the connection that was used last.
func (p *conns) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// open makes a new connection.
func (p *conns) open(ctx context.Context) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	n, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: n, in: io.LimitedReader{R: n}}
	c.r = bufio.NewReader(&c.in)
	return c, nil
}

func (p *conns) dial(ctx context.Context) (net.Conn, error) {
	if p.remote != nil {
		return p.remote.dial(ctx)
	}
	return dial(ctx, p.socket)
}

// base is how the URLs of requests begin.
func (p *conns) base() string {
	if p.remote != nil {
		return "https://" + p.remote.address
	}
	return "http://ramaria" // the host is for the form: the path of the socket is the address
}

// put keeps a connection for later calls.
func (p *conns) put(c *conn) {
	c.kept, c.since = true, time.Now().Round(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= MaxIdle {
		c.Close()
		return
	}
	p.idle = append(p.idle, c)
}

func (p *conns) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.Close()
	}
	p.idle, p.closed = nil, true
}
