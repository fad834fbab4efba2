package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Defaults of a TemplateRequest.
const (
	DefaultBuild     = 10 * time.Minute
	DefaultBuildWait = 15 * time.Minute
)

const (
	// keepOlder is how many templates of a family stay besides the newest, those that were
	// used last.
	keepOlder = 2
	// nameBytes is how many random bytes stand in a template's name.
	nameBytes = 5
)

// build is a database that a client fills, to make it a template. It is under Pool.mu.
type build struct {
	family, key string
	expires     time.Time
	// done is closed when it is built, or given up.
	done chan struct{}
	// made says that there is a database, or may be. over says that it was given up, and
	// that its database is being removed.
	made, over bool
}

// TemplateRequest asks for the template of a family and a key. The key identifies everything
// that the content depends on.
type TemplateRequest struct {
	Family, Key string
	// Wait is how long to wait while another client builds the template, 0 for
	// DefaultBuildWait; Build is how long the caller may build it, 0 for DefaultBuild.
	Wait, Build time.Duration
}

// Claim is the answer to a TemplateRequest: a template, or an empty database that the caller
// must fill.
type Claim struct {
	Template Template
	// Build is how the caller reaches the empty database; PutTemplate then makes it the
	// template, DeleteTemplate gives it up. nil if Template is ready.
	Build *dbconn.Endpoint
	// Expires is when another client may build the template instead.
	Expires time.Time
}

// ClaimTemplate returns the template with a key, and waits while another client builds it. If
// no such template exists, the caller must build it. Errors match ErrInvalid (family or key),
// ErrInUse (the wait was too short) and ErrClosed.
func (p *Pool) ClaimTemplate(ctx context.Context, r TemplateRequest) (Claim, error) {
	r.Family = p.fold(r.Family)
	c, err := p.claimTemplate(ctx, r)
	if err != nil {
		return Claim{}, fmt.Errorf("find a template for %s: %w", r.Family, err)
	}
	return c, nil
}

func (p *Pool) claimTemplate(ctx context.Context, r TemplateRequest) (Claim, error) {
	if !dbconn.PlainName(r.Family) || r.Key == "" || r.Wait < 0 || r.Build < 0 {
		return Claim{}, fmt.Errorf("%w: a name of 1 to %d letters, digits and _, and a key", ErrInvalid, dbconn.MaxName)
	}
	wait := cmp.Or(r.Wait, DefaultBuildWait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c, other, err := p.claim(ctx, r)
		if err != nil || other == nil {
			return c, err
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return Claim{}, ctx.Err()
		case <-p.life.Done():
			return Claim{}, ErrClosed
		case <-timer.C:
			return Claim{}, fmt.Errorf("%w: another process has been building it for %s, and may until %s\nhint: try again with a longer wait", ErrInUse, wait, other.expires.Format(time.TimeOnly))
		}
	}
}

// claim is ClaimTemplate, but returns the build that is to be waited for.
func (p *Pool) claim(ctx context.Context, r TemplateRequest) (c Claim, _ *build, err error) {
	s, done, err := p.session(ctx)
	if err != nil {
		return Claim{}, nil, err
	}
	defer func() { done(err) }()
	for {
		p.mu.Lock()
		if t := p.keyed(r); t != nil {
			p.spares.touch(t.supply)
			c := Claim{Template: p.template(t)}
			p.mu.Unlock()
			// After a restart it is not known yet whether it is there at all.
			shape, err := p.shape(ctx, s, t.name)
			if err == nil {
				if err = p.engine.Unchanged(ctx, s, shape); err == nil {
					return c, nil, nil
				}
				if errors.Is(err, reset.ErrTemplateChanged) {
					continue // which everybody knows by now
				}
			}
			if !errors.Is(err, ErrNotFound) {
				return Claim{}, nil, err
			}
			p.mu.Lock()
			t.key = "" // it may have clones
			p.mu.Unlock()
			continue
		}
		for _, b := range p.builds {
			if b.family == r.Family && b.key == r.Key {
				p.mu.Unlock()
				return Claim{}, b, nil
			}
		}
		// No name comes twice: a client that took too long must not end the next one's build.
		name := suffixed(r.Family, "_"+random(nameBytes))
		if p.taken(name) {
			p.mu.Unlock()
			continue
		}
		b := &build{family: r.Family, key: r.Key, expires: time.Now().Add(cmp.Or(r.Build, DefaultBuild)), done: make(chan struct{})}
		p.builds[name] = b
		p.mu.Unlock()
		e, err := p.begin(ctx, s, name, b)
		if err != nil {
			return Claim{}, nil, err
		}
		return Claim{Template: Template{Name: name, Family: r.Family, Key: r.Key}, Build: &e, Expires: b.expires}, nil, nil
	}
}

// errTooLate says that a build was given up.
var errTooLate = fmt.Errorf("%w: its build was given up, or took too long", ErrNotFound)

// begin makes the database of a build.
func (p *Pool) begin(ctx context.Context, s *reset.Session, name string, b *build) (dbconn.Endpoint, error) {
	there, err := exists(ctx, s, name)
	if err == nil && there {
		err = fmt.Errorf("the database %s: %w", name, ErrTaken)
	}
	p.mu.Lock()
	if err == nil && p.builds[name] != b {
		err = errTooLate
	}
	if err == nil {
		// Before it is made, so that it is removed if this is the last that we do.
		b.made = true
		err = p.save()
	}
	if err != nil && p.builds[name] == b { // the database, if there is one, is another client's
		delete(p.builds, name)
		close(b.done)
	}
	p.mu.Unlock()
	if err != nil {
		return dbconn.Endpoint{}, err
	}
	_, err = s.Conn.ExecContext(context.WithoutCancel(ctx), "CREATE DATABASE "+dbconn.QuoteName(name))
	if err = errors.Join(err, ctx.Err()); err != nil { // or its client has gone
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.builds[name] == b {
			p.abandon(name)
		}
		return dbconn.Endpoint{}, err
	}
	e := p.config.Endpoint
	e.Database = name
	return e, nil
}

// keyed returns the template with a key that is still what it was, or nil.
// The caller holds p.mu.
func (p *Pool) keyed(r TemplateRequest) *tmpl {
	for _, t := range p.templates {
		if t.family == r.Family && t.key == r.Key && (p.spares.view(t.supply).shape == nil || p.engine.Certain(t.name) == nil) {
			return t
		}
	}
	return nil
}

// built ends the build of a template. The caller holds p.mu.
func (p *Pool) built(t *tmpl) {
	b := p.builds[t.name]
	if b == nil {
		return
	}
	for _, old := range p.templates { // it was changed, or this one would not have been built
		if old.family == b.family && old.key == b.key {
			old.key = ""
		}
	}
	t.family, t.key = b.family, b.key
	delete(p.builds, t.name)
	close(b.done)
}

// abandon gives a build up. The caller holds p.mu.
func (p *Pool) abandon(name string) {
	close(p.builds[name].done)
	p.dropBuilt(name)
}

// dropBuilt drops a database that was made for a build, in the background. Its name is
// taken until then, also by the file. The caller holds p.mu.
func (p *Pool) dropBuilt(name string) {
	delete(p.paused, name)
	p.builds[name] = &build{expires: never, made: true, over: true}
	if p.life.Err() != nil {
		return
	}
	p.behind.Go(func() {
		s, done, err := p.session(p.life)
		if err == nil {
			err = template.Drop(p.life, s.Conn, name, p.config.DataDir)
			done(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil { // from now on another database may be called so
			delete(p.builds, name)
			err = p.save()
		}
		if err != nil && p.life.Err() == nil {
			p.config.Log.Error("cannot remove the database of a template", "database", name, "error", err)
		}
	})
}

// prune removes what is left of a family beside its newest template: no client asks for the
// keys of old sources any more. The caller holds p.mu.
func (p *Pool) prune(newest *tmpl) {
	if newest.family == "" {
		return
	}
	var old []*tmpl
	used := map[string]time.Time{}
	for _, t := range p.templates {
		v := p.spares.view(t.supply)
		if t != newest && t.family == newest.family && !v.busy && p.leases.count(t.name) == 0 {
			old, used[t.name] = append(old, t), v.used
		}
	}
	slices.SortFunc(old, func(a, b *tmpl) int { return used[b.name].Compare(used[a.name]) })
	for _, t := range old[min(len(old), keepOlder):] {
		err := p.deleteTemplate(t.name)
		if err == nil {
			p.dropBuilt(t.name)
			err = p.save()
		}
		if err != nil {
			p.config.Log.Error("cannot remove an old template", "template", t.name, "error", err)
			continue
		}
		p.config.Log.Info("an old template is removed", "template", t.name)
	}
}
