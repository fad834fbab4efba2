package reset

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/template"
)

// ErrTemplateChanged says that a template is not as it was when it was made one.
var ErrTemplateChanged = errors.New("the template was changed")

// verifyTries is how often a template is compared that changes, or may have changed, meanwhile.
const verifyTries = 5

// Prove reads checksums of a template's rows, by which Unchanged can tell later whether the
// template is still the same. It does nothing if the template may have changed since its shape
// was read.
func (r *Engine) Prove(ctx context.Context, s *Session, shape *template.Shape) error {
	if r.Journal.Changed(shape.Name) != "" {
		return nil
	}
	sums, err := shape.Checksums(ctx, s.Conn, func(string) bool { return true })
	if err != nil {
		return fmt.Errorf("prove template %s: %w", shape.Name, err)
	}
	if r.Journal.Changed(shape.Name) == "" {
		shape.Sums.Set(sums)
	}
	return nil
}

// Certain returns ErrTemplateChanged if a template has certainly changed. It sends no query.
func (r *Engine) Certain(name string) error {
	if why := r.Journal.Proven(name); why != "" {
		return fmt.Errorf("%w: %s\nhint: ramaria template add %s takes it as it is now", ErrTemplateChanged, why, name)
	}
	return nil
}

// Unchanged returns ErrTemplateChanged if a template has changed. Where the log leaves that
// open (a statement that may concern the template, a log that was lost), Unchanged compares the
// template with its recorded shape and checksums, so that other work on the server does not
// make it unusable.
func (r *Engine) Unchanged(ctx context.Context, s *Session, shape *template.Shape) error {
	if r.Journal.Touched(shape.Name) == "" {
		return nil
	}
	r.verifying.Lock()
	defer r.verifying.Unlock()
	for range verifyTries {
		open, at := r.Journal.unverified(shape.Name)
		if err := r.Certain(shape.Name); err != nil || open == nil {
			return err
		}
		differs, err := differs(ctx, s, shape, open)
		if err != nil {
			return err
		}
		if differs != "" {
			r.Journal.differs(shape.Name, at, differs)
			continue
		}
		if r.Journal.settle(shape.Name, at) {
			return nil
		}
	}
	return fmt.Errorf("compare template %s with what it was: another connection is changing it: %s", shape.Name, r.Journal.Changed(shape.Name))
}

// differs says what of a template is not as it was, "" for nothing, as far as the log leaves that open.
func differs(ctx context.Context, s *Session, shape *template.Shape, open *Changes) (string, error) {
	suspect := func(table string) bool {
		return open.Incomplete != "" || open.mentions(table) || open.Tables[table] != nil
	}
	was := shape.Sums.Known()
	if was == nil {
		return open.changed() + ", and its rows were not read before that", nil
	}
	have, err := template.ReadSome(ctx, s.Conn, shape.Name, suspect)
	switch {
	case errors.Is(err, template.ErrNoDatabase):
		return "it is gone", nil
	case err != nil:
		return "", err
	}
	have.TakeForEnabled(shape.Paused)
	if !shape.Compare(have, nil).Empty() {
		return "its shape was changed", nil
	}
	for _, t := range shape.Tables {
		if !suspect(t.Name) {
			continue
		}
		now := have.Table(t.Name)
		is, err := template.CounterOf(now.Create)
		if err != nil {
			return "", err
		}
		want, err := template.CounterOf(t.Create)
		if err != nil {
			return "", err
		}
		// A server that forgets a table forgets numbers that it gave to no row, and finds one that an insert
		// took that failed. Clones have the counter that the template had all the same.
		if is > want && (open.mentions(t.Name) || open.Tables[t.Name] != nil) {
			return "the counter of " + t.Name + " was changed", nil
		}
		if now.State != t.State {
			return "the sequence " + t.Name + " was moved", nil
		}
	}
	sums, err := shape.Checksums(ctx, s.Conn, suspect)
	if err != nil {
		return "", err
	}
	for _, t := range shape.Tables {
		if suspect(t.Name) && t.Kind != template.Sequence && sums[t.Name] != was[t.Name] {
			return "rows of " + t.Name + " were changed", nil
		}
	}
	return "", nil
}
