package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/server"
)

// counters count what was made since the start.
type counters struct{ branches, marks, rewinds, bases atomic.Int64 }

// task is something that an API request wants done by the goroutine of Run: what
// touches the server process, or must not happen twice at once.
type task struct {
	ctx context.Context // the request's
	// f gets two contexts: ctx ends with the request and with Run, life with Run alone.
	f    func(ctx, life context.Context) error
	done chan error
}

// run does the task, unless its caller has gone.
func (t task) run(ctx context.Context) {
	if err := t.ctx.Err(); err != nil {
		t.done <- err
		return
	}
	// It ends with the request, and with the supervisor.
	both, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(errEnding) })
	defer stop()
	err := t.f(both, ctx)
	if errors.Is(context.Cause(both), errEnding) && err != nil {
		if !errors.Is(err, errEnding) {
			err = fmt.Errorf("%w: %w", errEnding, err)
		}
		err = api.As(api.ErrUnavailable, fmt.Errorf("%w\nhint: ramaria ls shows whether the instance is still there", err))
	}
	t.done <- err
}

var errEnding = errors.New("the instance is being stopped")

// do calls f when its turn comes, and waits for it.
func (s *Supervisor) do(ctx context.Context, f func(ctx, life context.Context) error) error {
	t := task{ctx, f, make(chan error, 1)}
	select {
	case s.tasks <- t:
		return <-t.done
	case <-s.over:
		return s.notRunning()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Supervisor) notRunning() error {
	if s.next.Load() != nil {
		return fmt.Errorf("use instance %s: %w: it was moved meanwhile\nhint: try again", s.inst.Name, api.ErrUnavailable)
	}
	return fmt.Errorf("use instance %s: %w\nhint: ramaria up %s", s.inst.Name, api.ErrUnavailable, s.inst.Name)
}

// openAPI makes the API's socket. Requests wait in it until Run serves them.
func (s *Supervisor) openAPI() (err error) {
	if s.listen != nil {
		return nil // that of the instance before it was moved
	}
	if dir, own := s.inst.APIDir(); own {
		if err := server.MakeDirs(server.Account{}, dir); err != nil {
			return err
		}
	}
	if s.listen, err = api.Listen(s.inst.APISocket()); err != nil {
		return err
	}
	if l, ok := s.listen.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false) // by then it may be another's: see closeAPI
	}
	return nil
}

// closeAPI closes the socket, if Run has not. It may be called more than once.
func (s *Supervisor) closeAPI() error {
	if s.listen == nil {
		return nil
	}
	err := s.listen.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	s.listen = nil
	if s.gone() {
		return err
	}
	if rerr := os.Remove(s.inst.APISocket()); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
