package pool

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// provenAtOnce is up to how many bytes of tables the rows of a template are read before it can be
// used, by which it is told later whether it is still the same: 16 MB take 50 ms or so. Those of
// larger ones are read behind everybody's back.
const provenAtOnce = 16 << 20

// prove reads the rows of a template while it does not change.
func (p *Pool) prove(ctx context.Context, s *reset.Session, shape *template.Shape) error {
	var bytes int64
	for _, t := range shape.Tables {
		bytes += t.Bytes
	}
	if bytes <= provenAtOnce {
		return p.engine.Prove(ctx, s, shape)
	}
	p.behind.Go(func() {
		s, done, err := p.session(p.life)
		if err == nil {
			err = p.engine.Prove(p.life, s, shape)
			done(err)
		}
		if err != nil && p.life.Err() == nil {
			p.config.Log.Warn("cannot read the rows of a template; if the binary log is lost, a change of it goes unseen", "template", shape.Name, "error", err)
		}
	})
	return nil
}

// verify compares those templates with what they were of which the log leaves open whether they
// were changed, so that spare clones of them are made again, and users are told.
func (p *Pool) verify() {
	p.mu.Lock()
	var open []*template.Shape
	for _, t := range p.templates {
		if shape := p.spares.view(t.supply).shape; shape != nil && p.journal.Proven(t.name) == "" && p.changed(t.name) != "" {
			open = append(open, shape)
		}
	}
	p.mu.Unlock()
	for _, shape := range open {
		s, done, err := p.session(p.life)
		if err == nil {
			err = p.engine.Unchanged(p.life, s, shape)
			done(err)
		}
		if err != nil && p.life.Err() == nil {
			p.config.Log.Warn("no clone can be made of a template", "template", shape.Name, "error", err)
		}
	}
}
