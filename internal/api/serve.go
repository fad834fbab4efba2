package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// How long a server waits. There is no limit on serving a request: a branch of a large
// instance takes minutes, and its caller ends it by going away.
const (
	// DrainTime is how long Serve waits for requests, once its context has ended.
	DrainTime = 10 * time.Second
	// AbortTime is how long it waits for them after it has ended their contexts too.
	AbortTime = 5 * time.Second

	readTime  = 10 * time.Second // for a request, headers and body, to arrive
	idleTime  = time.Minute      // for the next request on a connection
	maxHeader = 16 << 10         // bytes
)

// errEnding is why the contexts of requests end with Serve.
var errEnding = errors.New("the instance is ending")

// waits are the limits that tests make shorter.
type waits struct{ drain, abort, read time.Duration }

// Serve serves h on l until ctx ends, and closes l. On a Unix socket no process of a server is served. Then no request is accepted any
// more; those under way have DrainTime to end, and AbortTime after their contexts were
// ended. It returns nil after that, unless some still run: an error then.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	return serve(ctx, l, h, log, waits{DrainTime, AbortTime, readTime})
}

func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger, w waits) error {
	// Not ctx: that must not end requests, only the accepting of new ones.
	requests, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	var running sync.WaitGroup
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
				lobby.Known(r.Context()) // TLS has verified who it is
			}
			h.ServeHTTP(w, r)
		}),
		BaseContext:    func(net.Listener) context.Context { return requests },
		ConnContext:    lobby.Context,
		ReadTimeout:    w.read, // ends with the body: serving may take longer
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(outsiders{l, log}) }()
	select {
	case err := <-ended:
		abort(errEnding)
		return errors.Join(fmt.Errorf("serve API: %w", err), s.Close(), wait(&running, w.abort))
	case <-ctx.Done():
	}
	// The context for this is a new one by necessity: the old one has ended.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.drain)
	defer cancel()
	err := s.Shutdown(drain)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		log.Warn("the API had stopped listening before it was to end", "error", served)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end API: %w", err)
	}
	log.Warn("requests are taking too long to end with the instance: giving them up", "after", w.drain)
	abort(errEnding)
	if err := wait(&running, w.abort); err != nil {
		return errors.Join(err, s.Close())
	}
	// Their answers, which say what happened, are still on their way: a connection is done
	// with when its answer has been written.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.abort)
	defer cancel()
	return errors.Join(s.Shutdown(last), s.Close())
}

// wait waits until no request runs, for at most d.
func wait(running *sync.WaitGroup, d time.Duration) error {
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(d):
		return fmt.Errorf("end API: requests still run %s after they were told to end", d)
	}
}
