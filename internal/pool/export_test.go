package pool

import (
	"context"
	"time"
)

// Hold takes a session, as somebody who works does, and returns what gives it back.
func (p *Pool) Hold(ctx context.Context) (func(), error) {
	_, done, err := p.session(ctx)
	if err != nil {
		return nil, err
	}
	return func() { done(nil) }, nil
}

// Expire ends the leases whose time will have run out by then.
func (p *Pool) Expire(then time.Time) { p.expire(then) }
