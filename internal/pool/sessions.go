package pool

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync"

	"github.com/ramaria-db/ramaria/internal/reset"
)

// maxSessions is how many databases can be worked on at the same time.
const maxSessions = 8

// sessions are the supervisor's sessions of the server.
//
// The invariant: a session works for one caller at a time, at most maxSessions work at once, and one
// that a caller gave back with an error, or that comes back after close, is closed.
type sessions struct {
	// open makes a session. It is set before the first take.
	open func(context.Context) (*reset.Session, error)
	// busy has a place for each session that works.
	busy chan struct{}

	mu sync.Mutex
	// free are those that do not work, the one that was used last at the end.
	free   []*reset.Session
	closed bool
}

func newSessions() *sessions { return &sessions{busy: make(chan struct{}, maxSessions)} }

// take returns a session for the caller alone, and the function that gives it back: with an error
// it is not used again.
func (s *sessions) take(ctx context.Context) (*reset.Session, func(error), error) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	one := s.lastUsed()
	if one == nil {
		var err error
		if one, err = s.open(ctx); err != nil {
			<-s.busy
			return nil, nil, fmt.Errorf("connect to the server: %w", err)
		}
	}
	return one, func(err error) {
		defer func() { <-s.busy }()
		if err == nil && s.keep(one) {
			return
		}
		// It may be in the middle of something: the driver is to close it.
		_ = one.Conn.Raw(func(any) error { return driver.ErrBadConn })
		one.Conn.Close()
	}, nil
}

// lastUsed takes the free session that was used last, nil if all work: what its thread in the
// server needs is in the processor's caches most likely.
func (s *sessions) lastUsed() *reset.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	one := s.free[last]
	s.free = s.free[:last]
	return one
}

// keep makes a session free for others, unless all are closed.
func (s *sessions) keep(one *reset.Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.free = append(s.free, one)
	return true
}

// close closes the free sessions. Those that work are closed when they are given back.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, one := range s.free {
		one.Conn.Close()
	}
	s.free = nil
}
