package pool

import (
	"context"
	"slices"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// pause disables the events of a database that becomes a template, and writes down before which
// these are: they belong to its clones, and are enabled again when it is no template any more.
func (p *Pool) pause(ctx context.Context, s *reset.Session, name string) error {
	firing, err := template.Firing(ctx, s.Conn, name)
	if err != nil || len(firing) == 0 {
		return err
	}
	p.mu.Lock()
	was := p.paused[name]
	p.paused[name] = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(was), firing...))))
	err = p.save()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return template.Pause(ctx, s.Conn, name, firing)
}

// resume enables the events of a database that is no template any more, in the background. The
// caller holds p.mu.
func (p *Pool) resume(name string) {
	if len(p.paused[name]) == 0 || p.life.Err() != nil {
		return // they are in the file, and enabled by the next run
	}
	p.behind.Go(func() {
		s, done, err := p.session(p.life)
		if err == nil {
			err = p.resumeNow(s, name)
			done(err)
		}
		if err != nil && p.life.Err() == nil {
			p.config.Log.Error("cannot enable the events of a database that was a template", "database", name, "error", err)
		}
	})
}

// resumeNow is resume, while the database is not made a template again, and pauses them.
func (p *Pool) resumeNow(s *reset.Session, name string) error {
	p.reading.Lock()
	defer p.reading.Unlock()
	p.mu.Lock()
	events, again := p.paused[name], p.templates[name] != nil
	p.mu.Unlock()
	if again || len(events) == 0 {
		return nil
	}
	there, err := exists(p.life, s, name)
	if err == nil && there {
		err = template.Resume(p.life, s.Conn, name, events)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.paused, name)
	return p.save()
}

// wake makes the events that fire in a clone that is handed out.
func (p *Pool) wake(ctx context.Context, l *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.database.Asleep || !l.database.Shape.HasFiring() {
		l.database.Asleep = false
		return nil
	}
	s, done, err := p.session(ctx)
	if err != nil {
		return err
	}
	if err = l.database.Shape.Wake(ctx, s.Conn, l.Name); err == nil {
		l.database.Asleep = false
	}
	done(err)
	return err
}
