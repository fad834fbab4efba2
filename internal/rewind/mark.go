package rewind

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// mark is a state of a database between its template's and the one that it has.
type mark struct {
	// before is what happened to the database until then.
	before *Changes
	// counters are those above 1 at that moment, by table.
	counters map[string]uint64
	// sequences are where they stood then.
	sequences map[string]template.SequenceState
}

// Errors of marks.
var (
	// ErrUnmarkable says that the database cannot be marked as it is: more than its rows has
	// changed, so that nobody could tell how to come back.
	ErrUnmarkable = errors.New("it cannot be marked as it is")
	// ErrMarkLost says that a database could not be put back to its mark, or has none. It is as
	// its template is then, and has no mark.
	ErrMarkLost = errors.New("the mark is lost")
)

// markTries is how often a mark is tried while others write to the database.
const markTries = 10

// Mark has RewindTo put the database back to what is committed in it now, until the next
// Reset. There is one mark at a time, and none after an error. What transactions that are open
// now commit later comes after it.
func (r *Rewinder) Mark(ctx context.Context, s *Session, d *Database) error {
	for range markTries {
		r.unmark(d)
		before := r.Journal.Take(d.Name)
		if why := before.beyondRows(); why != "" {
			r.Journal.Return(d.Name, before)
			return r.unmarkable(d, why)
		}
		if strayed, err := r.strayed(ctx, s, d); err != nil || strayed {
			r.Journal.Return(d.Name, before)
			return errors.Join(r.unmarkable(d, strayedWhy), err)
		}
		d.mark = &mark{before: before}
		counters, err := s.counters(ctx, d.Name, d.Shape)
		if err == nil && d.Shape.HasSequences() {
			// One that has values in memory moves without an event; after this each writes one.
			if d.mark.sequences, err = template.SettleSequences(ctx, s.Conn, d.Name); err != nil {
				r.Journal.Return(d.Name, movedSequences(d.Shape))
			}
			if server.LockTimeout(err) {
				err = fmt.Errorf("%w: a transaction that is open has used a sequence: %w\nhint: end it before", ErrUnmarkable, err)
			}
		}
		if err != nil {
			r.unmark(d)
			return fmt.Errorf("mark %s: %w", d.Name, err)
		}
		if d.mark.counters = counters; r.Journal.Events(d.Name) == 0 { // they are not from after it
			return nil
		}
	}
	r.unmark(d)
	return fmt.Errorf("mark %s: %w: it is written to all the time", d.Name, ErrUnmarkable)
}

func (r *Rewinder) unmarkable(d *Database, why string) error {
	r.unmark(d)
	return fmt.Errorf("mark %s: %w: %s\nhint: ramaria db reset %s puts it back to its template", d.Name, ErrUnmarkable, why, d.Name)
}

// movedSequences are changes that may have moved every sequence: settling one takes a value, of which
// our own session leaves no event.
func movedSequences(shape *template.Shape) *Changes {
	c := &Changes{}
	for _, t := range shape.Tables {
		if t.Kind == template.Sequence {
			c.doubt(t.Name)
		}
	}
	return c
}

// unmark makes what happened before the mark, if there is one, count as what comes after it.
func (r *Rewinder) unmark(d *Database) {
	if d.mark != nil {
		r.Journal.Return(d.Name, d.mark.before)
		d.mark = nil
	}
}

// RewindTo puts a database back to its mark, by undoing what happened to its rows since. Where
// that cannot be done it resets it to its template, and returns ErrMarkLost and what that took.
func (r *Rewinder) RewindTo(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	why := errors.New("there is none")
	if d.mark != nil {
		var res Result
		warnings, err := r.Unlocked(ctx, s, d, func() (err error) {
			res, err = r.rewindTo(ctx, s, d, c)
			return err
		})
		if res.Warnings = append(res.Warnings, warnings...); err == nil || ctx.Err() != nil {
			return res, err
		}
		why = err
	}
	res, err := r.Reset(ctx, s, d, c)
	if err != nil {
		return res, err
	}
	for _, text := range res.Warnings {
		why = fmt.Errorf("%w; %s", why, text)
	}
	return res, fmt.Errorf("rewind %s: %w, and the database as its template: %w", d.Name, ErrMarkLost, why)
}

// rewindTo is RewindTo as far as rows go. After an error the database is to be reset.
func (r *Rewinder) rewindTo(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	changes, counters, err := r.take(ctx, s, d, c)
	if err != nil {
		return Result{}, err
	}
	plan := MakeRows(changes, d.Shape, r.Server.LogsCascades())
	if plan.Way != Noop && plan.Way != Rewind {
		r.Journal.Return(d.Name, changes)
		return Result{}, errors.New(plan.Why)
	}
	if strayed, err := r.strayed(ctx, s, d); err != nil || strayed {
		r.Journal.Return(d.Name, changes)
		return Result{}, errors.Join(errors.New(strayedWhy), err)
	}
	then := *d
	then.Counters, then.sequences = d.mark.counters, d.mark.sequences
	err = r.apply(ctx, s, &then, &plan, counters, c)
	if err == nil && plan.Way == Rewind && r.Journal.Changed(d.Name) != "" {
		err = errors.New("it was changed while it was put back")
	}
	if err != nil {
		r.failed(d, plan.Warnings, "it could not be put back to its mark")
		if server.LockTimeout(err) { // of a session that has no transaction; see reset
			err = errors.Join(err, s.End(ctx, d.User))
		}
		return Result{}, err
	}
	r.Journal.settleFiles(d.Name, r.Journal.filesAt(d.Name))
	return Result{Way: plan.Way, Warnings: plan.Warnings}, nil
}
