package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 40 * time.Second

// instance is a server that counts its connections and requests, and can be ended
// as one is that is killed: with all that it has open.
type instance struct {
	opened, open, asked atomic.Int32
	end                 func()
}

// begin serves h on socket until end is called.
func begin(t *testing.T, socket string, h http.HandlerFunc) *instance {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{}
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { i.asked.Add(1); h(w, r) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				i.opened.Add(1)
				i.open.Add(1)
			case http.StateClosed:
				i.open.Add(-1)
			}
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	i.end = sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(i.end)
	return i
}

var empty = answering(200, jsonType, "{}")

// calls are calls of each kind: with a body and without, changing something or not.
var calls = map[string]func(context.Context, *Client) error{
	"get":           func(ctx context.Context, c *Client) error { _, err := c.Status(ctx); return err },
	"post":          func(ctx context.Context, c *Client) error { _, err := c.ResetDatabase(ctx, "a", ""); return err },
	"post and body": func(ctx context.Context, c *Client) error { _, err := c.Mark(ctx, MarkRequest{Label: "a"}); return err },
	"put":           func(ctx context.Context, c *Client) error { _, err := c.PutTemplate(ctx, "a"); return err },
	"delete":        func(ctx context.Context, c *Client) error { return c.DropDatabase(ctx, "a") },
}

// taking takes the connection over, writes to it, and leaves it open until the test ends.
func taking(t *testing.T, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, text)
	}
}

// TestKept makes calls on one connection, and others on new ones.
func TestKept(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, tc := range map[string]struct {
		h       http.HandlerFunc
		between func(*Client)
		kept    bool
	}{
		"kept":    {empty, func(*Client) {}, true},
		"no body": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, func(*Client) {}, true},
		"refused": {answering(404, jsonType, `{"error":{"code":"not_found","message":"m"}}`), func(*Client) {}, true},
		"closed": {empty, func(c *Client) {
			if !c.conns.closed {
				c.Close()
			}
		}, false},
		"too old": {empty, func(c *Client) {
			for _, idle := range c.conns.idle {
				idle.since = idle.since.Add(-maxKept)
			}
		}, false},
		"last": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			empty(w, r)
		}, func(*Client) {}, false},
		"said to be the last": {taking(t, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), func(*Client) {}, false},
		"more than an answer": {taking(t, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 Not Asked For\r\n\r\n"), func(*Client) {}, false},
	} {
		socket := tempSocket(t)
		i, c, n := begin(t, socket, tc.h), New(socket), int32(0)
		for _, call := range calls {
			tc.between(c)
			var refused *Error
			if err := call(ctx, c); err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusNotFound) {
				t.Errorf("%s: %v", name, err)
			}
			n++
		}
		want := n
		if tc.kept {
			want = 1
		}
		if i.opened.Load() != want || i.asked.Load() != n {
			t.Errorf("%s: %d connections for %d calls, of which %d arrived; want %d", name, i.opened.Load(), n, i.asked.Load(), want)
		}
		c.Close()
	}
}

// TestRestart ends the instance between two calls, and begins another.
func TestRestart(t *testing.T) {
	socket := tempSocket(t)
	for name, call := range calls {
		c, old := New(socket), begin(t, socket, empty)
		if err := call(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		old.end()
		if err := call(t.Context(), c); !errors.Is(err, ErrNoServer) {
			t.Errorf("%s, without a server: %v", name, err)
		}
		again := begin(t, socket, empty)
		if err := call(t.Context(), c); err != nil || again.asked.Load() != 1 {
			t.Errorf("%s, after the restart: %v, %d arrived", name, err, again.asked.Load())
		}
		again.end()
		third := begin(t, socket, empty)
		if err := call(t.Context(), c); err != nil || third.asked.Load() != 1 {
			t.Errorf("%s, after a quick restart: %v, %d arrived", name, err, third.asked.Load())
		}
		c.Close()
		third.end()
	}
}

// TestSendOnClosed writes to a connection that was closed in the moment after it was
// looked at: nothing of the request was sent. That is known, and it is sent again.
func TestSendOnClosed(t *testing.T) {
	socket := tempSocket(t)
	old, p := begin(t, socket, empty), &conns{socket: socket}
	c, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !quiet(c.Conn) {
		t.Error("a new connection is not quiet")
	}
	old.end()
	if quiet(c.Conn) {
		t.Error("a closed connection is quiet: TestRestart shows nothing")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://ramaria/v1/marks", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, unseen, err := p.ask(c, req, []byte("POST")); !unseen || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("unseen: %v, %v", unseen, err)
	}
}

// TestEndsInTheMiddle lets an instance end after it got a request on a kept connection.
// The request is sent again if it was not read, and not if it was: it may have been
// acted on.
func TestEndsInTheMiddle(t *testing.T) {
	for name, reads := range map[string]bool{"unread": false, "read": true} {
		for what, call := range calls {
			socket := tempSocket(t)
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			requests := make(chan int, 1)
			go func() { requests <- dying(t, l, reads) }()
			c := New(socket)
			if err := call(t.Context(), c); err != nil {
				t.Fatalf("%s, %s: %v", what, name, err)
			}
			err = call(t.Context(), c)
			if reads != errors.Is(err, io.EOF) || !reads && err != nil {
				t.Errorf("%s, %s: %v", what, name, err)
			}
			c.Close()
			l.Close()
			if got := <-requests; got != 2 {
				t.Errorf("%s, %s: %d requests were read, want 2", what, name, got)
			}
		}
	}
}

// dying answers one request, waits for the next on the same connection, reads it or does
// not, and hangs up. Then it answers others. It returns how many requests it has read.
func dying(t *testing.T, l net.Listener, reads bool) (requests int) {
	for n := 0; ; n++ {
		c, err := l.Accept()
		if err != nil {
			return requests
		}
		r := bufio.NewReader(c)
		read := func() {
			req, err := http.ReadRequest(r)
			if err == nil {
				_, err = io.Copy(io.Discard, req.Body)
			}
			if err != nil {
				t.Error(err)
			}
			requests++
		}
		read()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		if n == 0 {
			for quiet(c) {
				time.Sleep(time.Millisecond)
			}
			if reads {
				read()
			}
		}
		c.Close()
	}
}

// TestGivenUp does not keep a connection of a call that was given up.
func TestGivenUp(t *testing.T) {
	socket, given := tempSocket(t), make(chan struct{})
	var wait atomic.Bool
	i := begin(t, socket, func(w http.ResponseWriter, r *http.Request) {
		if wait.Load() {
			<-r.Context().Done()
			close(given)
		}
		empty(w, r)
	})
	c := New(socket)
	defer c.Close()
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Store(true)
	why := errors.New("tea time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
	defer cancel()
	if _, err := c.ResetDatabase(ctx, "a", ""); !errors.Is(err, why) {
		t.Errorf("given up: %v", err)
	}
	select {
	case <-given:
	case <-time.After(patience):
		t.Fatal("the instance was not told")
	}
	if _, err := c.Status(ctx); !errors.Is(err, why) {
		t.Errorf("begun too late: %v", err)
	}
	wait.Store(false)
	if _, err := c.Status(t.Context()); err != nil || i.opened.Load() != 2 || i.asked.Load() != 3 {
		t.Errorf("after it: %v, %d connections, %d requests", err, i.opened.Load(), i.asked.Load())
	}
}

// TestMaxIdle keeps no more connections than it says, and closes them.
func TestMaxIdle(t *testing.T) {
	const many = 2 * MaxIdle
	socket := tempSocket(t)
	var there sync.WaitGroup // all of them at once
	there.Add(many)
	i := begin(t, socket, func(w http.ResponseWriter, r *http.Request) { there.Done(); there.Wait(); empty(w, r) })
	c := New(socket)
	var calling sync.WaitGroup
	for range many {
		calling.Go(func() {
			if _, err := c.Status(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	calling.Wait()
	if opened := i.opened.Load(); opened != many {
		t.Errorf("%d connections for %d calls at once", opened, many)
	}
	i.await(t, MaxIdle)
	c.Close()
	i.await(t, 0)
}

// TestMany makes calls of several goroutines at once through an instance's restarts. Each
// ends well, or as a call may with an instance that ends.
func TestMany(t *testing.T) {
	socket := tempSocket(t)
	c, i := New(socket), begin(t, socket, empty)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calling sync.WaitGroup
	var well atomic.Int32
	for _, call := range calls {
		calling.Go(func() {
			for ctx.Err() == nil {
				err := call(t.Context(), c)
				if err == nil {
					well.Add(1)
				} else if !errors.Is(err, ErrNoServer) && !strings.Contains(err.Error(), "it hung up") {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		for before, end := well.Load(), time.Now().Add(patience); well.Load() < before+20; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no call ends well")
			}
		}
		i.end()
		i = begin(t, socket, empty)
	}
	cancel()
	calling.Wait()
}

// await waits until n connections are open.
func (i *instance) await(t *testing.T, n int32) {
	t.Helper()
	for end := time.Now().Add(patience); i.open.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are open, want %d", i.open.Load(), n)
		}
		runtime.GC()
	}
}

// TestForgotten leaves a Client to the garbage collector.
func TestForgotten(t *testing.T) {
	socket := tempSocket(t)
	i := begin(t, socket, empty)
	if _, err := New(socket).Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.await(t, 0)
}
