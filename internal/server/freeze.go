package server

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// stopPatience is how long all threads of a server may take to stop. One of them may
// be in the middle of a write, which ends first.
const stopPatience = 5 * time.Second

var (
	// ErrFrozenTooLong says that a server was let go on before what was to be done
	// while it was frozen was done.
	ErrFrozenTooLong = errors.New("the server was stopped for too long and goes on")
	// ErrWoken says that another process let a stopped server go on.
	ErrWoken = errors.New("another process let the stopped server go on")
)

// Freeze stops every thread of the server, calls f, and lets the server go on. While f
// runs the server writes nothing, and no write of its is under way, provided that it
// does none asynchronously (see innodb_use_native_aio in the profile).
//
// When limit has passed, or ctx ends, the context of f ends and the server goes on at
// once, whatever f does; Freeze then returns an error, as what f did is worth nothing.
// Should this process die, the server dies with it. pause is for how long it stood.
func (p *Process) Freeze(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) (pause time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrFrozenTooLong)
	defer cancel()
	began := time.Now()
	// A watchdog of its own: f may hang in the kernel.
	barked := make(chan struct{})
	unleash := context.AfterFunc(ctx, func() { defer close(barked); p.goOn() })
	defer func() {
		p.goOn()
		pause = time.Since(began)
		if !unleash() {
			<-barked // lest it wakes a server that is stopped once more
		}
	}()
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return 0, fmt.Errorf("stop server: %w", err)
	}
	if err := p.waitStopped(ctx); err != nil {
		return 0, fmt.Errorf("stop server: %w", err)
	}
	err = f(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return 0, errors.Join(cause, err)
	}
	if err != nil {
		return 0, err
	}
	select {
	case <-p.done:
		return 0, fmt.Errorf("stop server: %s", Cause(p.err))
	default:
	}
	// A server that was woken may have written: then the copy is of no moment at all. The
	// kernel keeps the last event only, which is a stop where it was stopped once more.
	for _, changed := range []func(int) (bool, error){sys.Continued, sys.Stopped} {
		if woken, err := changed(p.PID()); err != nil || woken {
			return 0, errors.Join(ErrWoken, err)
		}
	}
	return 0, nil
}

// waitStopped waits until every thread has stopped: only then does the kernel tell.
func (p *Process) waitStopped(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, fmt.Errorf("its threads did not stop within %s", stopPatience))
	defer cancel()
	for {
		stopped, err := sys.Stopped(p.PID())
		if stopped || err != nil {
			return err
		}
		select {
		case <-p.done:
			return errors.New(Cause(p.err))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(sys.StopPoll):
		}
	}
}

// goOn lets a stopped server go on; one that runs or has ended does not mind.
func (p *Process) goOn() { _ = p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
