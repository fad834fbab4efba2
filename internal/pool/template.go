package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/rewind"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Template is a database that others are cloned from.
type Template struct {
	Name   string
	Made   time.Time
	Tables int
	// Bytes is about what its tables take.
	Bytes int64
	// Leases is how many clones of it there are.
	Leases int
	// Changed says why it can make no clones any more, "" if it can. It, Tables and Bytes
	// are not known after a restart until the template is used.
	Changed string
}

// shapeTries is how often the shape of a database is read that changes meanwhile.
const shapeTries = 3

// PutTemplate makes a database a template, or makes one anew that was changed. What it
// holds now is what its clones will begin with.
func (p *Pool) PutTemplate(ctx context.Context, name string) (Template, error) {
	t, err := p.putTemplate(ctx, name)
	if err != nil {
		return Template{}, fmt.Errorf("make %s a template: %w", name, err)
	}
	return t, nil
}

func (p *Pool) putTemplate(ctx context.Context, name string) (Template, error) {
	if server.SystemSchema(name) {
		return Template{}, fmt.Errorf("%w: it belongs to the server", ErrInvalid)
	}
	p.mu.Lock()
	_, leased := p.leases[name]
	p.mu.Unlock()
	if leased {
		return Template{}, fmt.Errorf("%w: it is a clone of a template itself\nhint: ramaria db ls lists them", ErrInUse)
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	s, done, err := p.session(ctx)
	if err != nil {
		return Template{}, err
	}
	shape, err := p.readShape(ctx, s, name)
	done(err)
	if err != nil {
		return Template{}, err
	}
	p.mu.Lock()
	old := p.templates[name]
	p.templates[name] = &tmpl{shape: shape, made: time.Now()}
	err = p.save()
	if err != nil {
		delete(p.templates, name)
		if old != nil {
			p.templates[name] = old
		}
	}
	p.mu.Unlock()
	if err != nil {
		return Template{}, err
	}
	return p.template(name)
}

// readShape reads the shape of a database that nobody changes meanwhile, and watches it.
func (p *Pool) readShape(ctx context.Context, s *rewind.Session, name string) (*template.Shape, error) {
	for try := 1; ; try++ {
		p.journal.Read()
		p.journal.Watch(name)
		if err := template.Analyze(ctx, s.Conn, name); err != nil {
			return nil, notFound(err)
		}
		shape, err := template.Read(ctx, s.Conn, name)
		if err != nil {
			return nil, notFound(err)
		}
		why := p.journal.Changed(name)
		if why == "" {
			if p.config.Server.TransportsTables() {
				shape.Files = &template.Files{DataDir: p.config.DataDir, UID: p.config.Account.UID, GID: p.config.Account.GID}
			}
			return shape, nil
		}
		if try == shapeTries {
			return nil, fmt.Errorf("%w: somebody is changing it: %s", ErrInUse, why)
		}
	}
}

// shape returns the shape of a template. After a restart it is read anew: what the
// database holds then is the template.
func (p *Pool) shape(ctx context.Context, s *rewind.Session, name string) (*template.Shape, error) {
	known := func() (*tmpl, *template.Shape) {
		p.mu.Lock()
		defer p.mu.Unlock()
		t := p.templates[name]
		if t == nil {
			return nil, nil
		}
		return t, t.shape
	}
	t, shape := known()
	if t == nil {
		return nil, noTemplate(name)
	}
	if shape != nil {
		return shape, nil
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	switch t, shape = known(); {
	case t == nil:
		return nil, noTemplate(name)
	case shape != nil:
		return shape, nil
	}
	shape, err := p.readShape(ctx, s, name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	t.shape = shape
	p.mu.Unlock()
	return shape, nil
}

func notFound(err error) error {
	if errors.Is(err, template.ErrNoDatabase) {
		return errors.Join(ErrNotFound, err)
	}
	return err
}

// Templates lists the templates by name.
func (p *Pool) Templates() []Template {
	p.mu.Lock()
	names := make([]string, 0, len(p.templates))
	for name := range p.templates {
		names = append(names, name)
	}
	p.mu.Unlock()
	slices.Sort(names)
	list := make([]Template, 0, len(names))
	for _, name := range names {
		if t, err := p.template(name); err == nil {
			list = append(list, t)
		}
	}
	return list
}

func (p *Pool) template(name string) (Template, error) {
	p.mu.Lock()
	t := p.templates[name]
	leases := 0
	for _, l := range p.leases {
		if l.Template == name {
			leases++
		}
	}
	p.mu.Unlock()
	if t == nil {
		return Template{}, noTemplate(name)
	}
	out := Template{Name: name, Made: t.made, Leases: leases}
	if t.shape == nil {
		return out, nil
	}
	out.Tables, out.Changed = len(t.shape.Tables), p.journal.Changed(name)
	for _, table := range t.shape.Tables {
		out.Bytes += table.Bytes
	}
	return out, nil
}

func noTemplate(name string) error {
	return fmt.Errorf("template %s: %w\nhint: ramaria template ls lists them, ramaria template add %s makes one of a database", name, ErrNotFound, strings.ToLower(name))
}

// DeleteTemplate makes a template an ordinary database again. It stays as it is.
func (p *Pool) DeleteTemplate(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[name]
	if t == nil {
		return noTemplate(name)
	}
	for _, l := range p.leases {
		if l.Template == name {
			return fmt.Errorf("remove template %s: %w: the database %s is a clone of it\nhint: ramaria db drop %s", name, ErrInUse, l.Name, l.Name)
		}
	}
	delete(p.templates, name)
	if err := p.save(); err != nil {
		p.templates[name] = t
		return err
	}
	if p.journal != nil {
		p.journal.Forget(name)
	}
	return nil
}
