package pool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Template is a database that others are cloned from.
type Template struct {
	Name string
	// Family and Key are those of its TemplateRequest, "" for a template that PutTemplate made
	// of a database.
	Family, Key string
	Made        time.Time
	Tables      int
	// Bytes is the approximate size of its tables, in bytes.
	Bytes int64
	// Leases is how many of its clones are leased, Spare how many are ready for new leases.
	Leases, Spare int
	// Changed says why no more clones can be made of it, "" if they can. After a restart,
	// Changed, Tables and Bytes are unknown until the template is used.
	Changed string
	// Notes say what its clones have otherwise, and what in it reaches beyond it; unknown as Tables is.
	Notes []string
}

// tmpl is a template, under Pool.mu but for its supply, which is under spares.mu.
type tmpl struct {
	name   string
	made   time.Time
	supply *supply
	// family and key are what it was asked for by, "" for one that was not.
	family, key string
}

// shapeTries is how often the shape of a database is read that changes meanwhile.
const shapeTries = 3

// PutTemplate makes a database a template, with its present content. A template that was
// changed becomes usable again. Errors match ErrNotFound, ErrInvalid (a database of the
// server's own), ErrInUse (a clone, or a database that another connection is changing),
// ErrUnclonable and ErrClosed.
func (p *Pool) PutTemplate(ctx context.Context, name string) (Template, error) {
	t, err := p.putTemplate(ctx, p.fold(name))
	if err != nil {
		return Template{}, fmt.Errorf("make %s a template: %w", name, err)
	}
	return t, nil
}

func (p *Pool) putTemplate(ctx context.Context, name string) (Template, error) {
	if dbconn.SystemSchema(name) {
		return Template{}, fmt.Errorf("%w: it belongs to the server", ErrInvalid)
	}
	p.mu.Lock()
	leased, b := p.leases.taken(name), p.builds[name]
	p.mu.Unlock()
	if b != nil && b.over {
		return Template{}, errTooLate
	}
	if leased {
		return Template{}, fmt.Errorf("%w: it is a clone of a template itself\nhint: ramaria db ls lists them", ErrInUse)
	}
	// In this order, as everywhere: who has to wait for reading has a session already.
	s, done, err := p.session(ctx)
	if err != nil {
		return Template{}, err
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	rights := p.journal.Rights()
	shape, err := p.readShape(ctx, s, name)
	done(err)
	if err != nil {
		return Template{}, err
	}
	size := p.size(shape)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.builds[name] != b {
		p.journal.Forget(name)
		return Template{}, errTooLate
	}
	t, known := p.templates[name]
	if !known {
		t = &tmpl{name: name, supply: &supply{name: name}}
		p.templates[name] = t
	}
	p.built(t)
	t.made = time.Now()
	p.spares.renew(t.supply, shape, size, rights)
	if err := p.save(); err != nil {
		if !known {
			delete(p.templates, name)
		}
		return Template{}, err
	}
	p.spares.add(t.supply)
	p.spares.clear(t.supply) // they are as it was before
	p.prune(t)
	p.spares.fill(t.supply)
	return p.template(t), nil
}

// readShape reads the shape of a database that does not change meanwhile, and watches it.
func (p *Pool) readShape(ctx context.Context, s *reset.Session, name string) (*template.Shape, error) {
	shape, err := p.tryShape(ctx, s, name)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.templates[name] == nil {
			p.journal.Forget(name)
			p.resume(name)
		} else { // what happened to it before is forgotten by now
			p.journal.Invalidate(name, "taking it again failed")
		}
	}
	return shape, err
}

func (p *Pool) tryShape(ctx context.Context, s *reset.Session, name string) (*template.Shape, error) {
	for try := 1; ; try++ {
		p.journal.Read()
		p.journal.Watch(name)
		if err := template.Analyze(ctx, s.Conn, name); err != nil {
			return nil, notFound(err)
		}
		if _, err := template.SettleSequences(ctx, s.Conn, name); err != nil {
			return nil, notFound(err)
		}
		if err := p.pause(ctx, s, name); err != nil {
			return nil, err
		}
		shape, err := template.Read(ctx, s.Conn, name)
		if err == nil {
			err = shape.Check()
		}
		if err == nil {
			shape, err = p.define(ctx, s, shape)
		}
		if err == nil {
			err = shape.CheckComputed(ctx, s.Conn)
		}
		if err != nil {
			return nil, notFound(err)
		}
		p.mu.Lock()
		shape.Paused = slices.Clone(p.paused[name])
		p.mu.Unlock()
		shape.TakeForEnabled(shape.Paused)
		p.journal.MarkRows(name, shape)
		if err := p.prove(ctx, s, shape); err != nil {
			return nil, err
		}
		why := p.journal.Changed(name)
		if why == "" {
			if rows := p.config.Server.TransportsFrom(); rows > 0 {
				shape.Files = &template.Files{DataDir: p.config.DataDir, UID: p.config.Account.UID, GID: p.config.Account.GID, Rows: rows}
			}
			return shape, nil
		}
		if try == shapeTries {
			return nil, fmt.Errorf("%w: another connection is changing it: %s", ErrInUse, why)
		}
	}
}

// shape returns the shape of a template. After a restart it is read again: what the
// database holds then is the template.
func (p *Pool) shape(ctx context.Context, s *reset.Session, name string) (*template.Shape, error) {
	t, shape := p.spares.find(name)
	if t == nil {
		return nil, noTemplate(name)
	}
	if shape != nil && !p.outdated(t) {
		return shape, nil
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	switch t, shape = p.spares.find(name); {
	case t == nil:
		return nil, noTemplate(name)
	case shape != nil && !p.outdated(t):
		return shape, nil
	case shape != nil:
		return p.redefine(ctx, s, t, shape)
	}
	rights := p.journal.Rights()
	shape, err := p.readShape(ctx, s, name)
	if err != nil {
		return nil, err
	}
	size := p.size(shape)
	p.spares.setShape(t, shape, size, rights)
	return shape, nil
}

// outdated reports whether a definer of what clones of a template have may have got a right since, by which it switches
// the binary log off, or lost it.
func (p *Pool) outdated(t *supply) bool { return p.spares.rights(t) != p.journal.Rights() }

// define reads who may switch the log off, which no reset sees then, and what leads to them, and returns the shape with
// that. These are who has what the application does not get here. The rights that let a session act as another account, or
// apply what is in no log, and that durable instances keep from it besides (server.Family.Blinding), it has itself:
// instances with templates are not durable.
func (p *Pool) define(ctx context.Context, s *reset.Session, shape *template.Shape) (*template.Shape, error) {
	definers, err := template.ReadDefiners(ctx, s.Conn, p.config.Server.Flavour == server.MySQL, p.config.Server.Dialect().Withheld, p.config.Endpoint.Login)
	if err != nil {
		return nil, err
	}
	for user := range definers.Blinding {
		if leased(user) { // whatever gave it that
			p.journal.Strengthen(user)
		}
	}
	shape = shape.Redefined(definers)
	if err = shape.ReadElsewhere(ctx, s.Conn); err == nil {
		err = shape.CheckElsewhere(ctx, s.Conn)
	}
	return shape, err
}

// redefine does that again. Where nobody can have got a right, everything stays as it is; otherwise clones of before are
// made again: what was got may have been used, and given back.
func (p *Pool) redefine(ctx context.Context, s *reset.Session, t *supply, shape *template.Shape) (*template.Shape, error) {
	was, rights, size := p.spares.rights(t), p.journal.Rights(), p.spares.view(t).size // before they are read
	again, err := p.define(ctx, s, shape)
	switch {
	case errors.Is(err, ErrUnclonable): // that counts also once it is mended
		p.spares.setShape(t, again, size, was)
		return nil, err
	case err != nil:
		return nil, err
	case shape.SameDefiners(again) && !p.journal.Rights().Passing(was, shape.Borrows() || again.Borrows(), shape.Reaches() || again.Reaches()):
		again = shape
	}
	p.spares.setShape(t, again, size, rights)
	return again, nil
}

func notFound(err error) error {
	if errors.Is(err, template.ErrNoDatabase) {
		return noDatabaseError{err}
	}
	return err
}

// noDatabaseError says that the database is not there that is to become a template.
type noDatabaseError struct{ error }

func (e noDatabaseError) Error() string {
	return template.ErrNoDatabase.Error() + "\nhint: ramaria sql -e 'SHOW DATABASES' lists them; --from DUMP makes the template of a dump"
}

func (e noDatabaseError) Unwrap() []error { return []error{ErrNotFound, e.error} }

// Templates lists the templates by name.
func (p *Pool) Templates() []Template {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Template, 0, len(p.templates))
	for _, t := range p.templates {
		list = append(list, p.template(t))
	}
	slices.SortFunc(list, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// template is what callers get to know of a template. The caller holds p.mu.
func (p *Pool) template(t *tmpl) Template {
	v := p.spares.view(t.supply)
	out := Template{Name: t.name, Family: t.family, Key: t.key, Made: t.made, Leases: p.leases.count(t.name), Spare: v.ready}
	if v.shape == nil {
		if p.lost(t.name) {
			out.Changed = "its database is gone"
		}
		return out
	}
	out.Tables, out.Bytes, out.Changed, out.Notes = len(v.shape.Tables), v.size, p.journal.Proven(t.name), v.shape.Notes()
	return out
}

// size is about what a database takes, in bytes: what its files do, or, where those are not found or
// lie elsewhere, what the server says of the tables, which is a fraction of that for small ones.
func (p *Pool) size(shape *template.Shape) int64 {
	var tables, files int64
	for _, t := range shape.Tables {
		tables += t.Bytes
	}
	if dbconn.PlainName(shape.Name) { // its directory has the same
		files, _ = sys.DiskUsage(filepath.Join(p.config.DataDir, shape.Name))
	}
	return max(tables, files)
}

func noTemplate(name string) error {
	return fmt.Errorf("template %s: %w\nhint: ramaria template ls lists them, ramaria template add %[1]s makes one of a database", name, ErrNotFound)
}

// DeleteTemplate makes a template an ordinary database again; its data stays. A template that
// is being built is given up, and its database removed. Errors match ErrNotFound and ErrInUse
// (it has clones).
func (p *Pool) DeleteTemplate(name string) error {
	name = p.fold(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.builds[name]; b != nil && !b.over {
		p.abandon(name)
		return p.save()
	}
	if err := p.deleteTemplate(name); err != nil {
		return err
	}
	p.resume(name)
	return nil
}

// deleteTemplate is DeleteTemplate of one that is built. The caller holds p.mu.
func (p *Pool) deleteTemplate(name string) error {
	t := p.templates[name]
	if t == nil {
		return noTemplate(name)
	}
	switch clone, waited := p.spares.end(t.supply); {
	case clone != "":
		return fmt.Errorf("remove template %s: %w: the database %s is a clone of it\nhint: ramaria db drop %s", name, ErrInUse, clone, clone)
	case waited:
		return fmt.Errorf("remove template %s: %w: a clone of it is being made", name, ErrInUse)
	}
	delete(p.templates, name)
	if err := p.save(); err != nil {
		p.templates[name] = t
		p.spares.add(t.supply)
		return err
	}
	p.spares.clear(t.supply)
	if p.journal != nil {
		p.journal.Forget(name)
	}
	return nil
}
