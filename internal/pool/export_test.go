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

// Maintain does now what is done every second.
func (p *Pool) Maintain() { p.maintain() }

// Meanwhile makes a lease of a name, as somebody does who has looked whether it is taken before
// another took it.
func (p *Pool) Meanwhile(ctx context.Context, from, name string) (err error) {
	s, done, err := p.session(ctx)
	if err != nil {
		return err
	}
	defer func() { done(err) }()
	shape, err := p.shape(ctx, s, from)
	if err != nil {
		return err
	}
	l := newLease(from, name, false)
	p.leases.claim(l)
	return p.provision(ctx, s, l, func() error {
		_, err := p.engine.Clone(ctx, s, shape, name)
		return err
	})
}
