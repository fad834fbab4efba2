package reset

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/template"
)

// savepointState is a state of a database between its template's and the one that it has.
type savepointState struct {
	// before is what happened to the database until then.
	before *Changes
	// counters are those above 1 at that moment, by table.
	counters map[string]uint64
	// sequences are where they stood then.
	sequences map[string]template.SequenceState
}

// Errors of savepoints.
var (
	// ErrNoSavepoint says that the database can have no savepoint now: more than its rows has
	// changed, and a rollback undoes rows only.
	ErrNoSavepoint = errors.New("it can have no savepoint as it is")
	// ErrSavepointLost says that a database has no savepoint, or could not be rolled back to
	// it. It was reset to its template, and has no savepoint any more.
	ErrSavepointLost = errors.New("the savepoint is lost")
)

// savepointTries is how often a savepoint is tried while others write to the database.
const savepointTries = 10

// SetSavepoint sets the savepoint of a database to what is committed in it now; RollBack goes
// back to it, until the next Reset. A transaction that is open now and commits later counts as
// a change after the savepoint. A database has one savepoint at a time, and none after an
// error, which matches ErrNoSavepoint if more than rows has changed.
func (r *Engine) SetSavepoint(ctx context.Context, s *Session, d *Database) error {
	for range savepointTries {
		r.releaseSavepoint(d)
		before := r.Journal.takeAll(d)
		if why := before.beyondRows(); why != "" {
			r.Journal.Return(d.Name, before)
			return r.noSavepoint(d, why)
		}
		if strayed, err := r.strayed(ctx, s, d); err != nil || strayed {
			r.Journal.Return(d.Name, before)
			return errors.Join(r.noSavepoint(d, strayedWhy), err)
		}
		r.Journal.MarkRows(d.Name, d.Shape)
		d.savepoint = &savepointState{before: before}
		counters, err := s.counters(ctx, d.Name, d.Shape)
		if err == nil && d.Shape.HasSequences() {
			// One that has values in memory moves without an event; after this each writes one.
			if d.savepoint.sequences, err = template.SettleSequences(ctx, s.Conn, d.Name); err != nil {
				r.Journal.Return(d.Name, movedSequences(d.Shape))
			}
			if dbconn.LockTimeout(err) {
				err = fmt.Errorf("%w: a transaction that is open has used a sequence: %w\nhint: end it before", ErrNoSavepoint, err)
			}
		}
		if err != nil {
			r.releaseSavepoint(d)
			return fmt.Errorf("set the savepoint of %s: %w", d.Name, err)
		}
		if d.savepoint.counters = counters; r.Journal.Events(d.Name) == 0 { // they are not from after it
			return nil
		}
	}
	r.releaseSavepoint(d)
	return fmt.Errorf("set the savepoint of %s: %w: it is written to all the time", d.Name, ErrNoSavepoint)
}

func (r *Engine) noSavepoint(d *Database, why string) error {
	r.releaseSavepoint(d)
	return fmt.Errorf("set the savepoint of %s: %w: %s\nhint: ramaria db reset %s puts it back to its template", d.Name, ErrNoSavepoint, why, d.Name)
}

// movedSequences are changes that may have moved every sequence: settling one takes a value, of which
// our own session leaves no event.
func movedSequences(shape *template.Shape) *Changes {
	c := &Changes{}
	for _, t := range shape.Tables {
		if t.Kind == template.Sequence {
			c.refill(t.Name)
		}
	}
	return c
}

// releaseSavepoint makes what happened before the savepoint, if there is one, count as what comes after it.
func (r *Engine) releaseSavepoint(d *Database) {
	d.lost = ""
	if d.savepoint != nil {
		r.Journal.Return(d.Name, d.savepoint.before)
		d.savepoint = nil
	}
}

// RollBack puts a database back to its savepoint by undoing the changes of its rows since.
// Where that is not possible, it resets the database to its template and returns
// ErrSavepointLost, with the result of the reset.
func (r *Engine) RollBack(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	why, hint := errors.New("none is set"), "ramaria db savepoint "+d.Name+" sets one"
	if d.lost != "" {
		why, hint = errors.New(d.lost), setAgain(d)
	}
	if d.savepoint != nil {
		var res Result
		warnings, err := r.Unlocked(ctx, s, d, func() (err error) {
			res, err = r.rollBackRows(ctx, s, d, c)
			return err
		})
		if res.Warnings = append(res.Warnings, warnings...); err == nil || ctx.Err() != nil {
			return res, err
		}
		why, hint = err, setAgain(d)
	}
	res, err := r.Reset(ctx, s, d, c)
	if err != nil {
		return res, err
	}
	for _, text := range res.Warnings {
		why = fmt.Errorf("%w; %s", why, text)
	}
	return res, fmt.Errorf("roll %s back: %w, and the database as its template: %w\nhint: %s", d.Name, ErrSavepointLost, why, hint)
}

func setAgain(d *Database) string {
	return "insert again what came before it, then ramaria db savepoint " + d.Name
}

// rollBackRows is RollBack as far as rows go. After an error the database is to be reset.
func (r *Engine) rollBackRows(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	changes, counters, connections, err := r.take(ctx, s, d, c)
	if err != nil {
		return Result{}, err
	}
	plan := MakeRows(changes, d.Shape, r.Server.LogsCascades())
	if plan.Way != Noop && plan.Way != Undo {
		r.Journal.Return(d.Name, changes)
		return Result{}, errors.New(plan.Why)
	}
	if strayed, err := r.strayed(ctx, s, d); err != nil || strayed {
		r.Journal.Return(d.Name, changes)
		return Result{}, errors.Join(errors.New(strayedWhy), err)
	}
	then := *d
	then.Counters, then.sequences = d.savepoint.counters, d.savepoint.sequences
	err = r.apply(ctx, s, &then, &plan, counters, c)
	if err == nil && plan.Way == Undo && r.Journal.Changed(d.Name) != "" {
		err = errors.New("it was changed while it was put back")
	}
	if err != nil {
		r.failed(d, plan.Warnings, "it could not be put back to its savepoint")
		if dbconn.LockTimeout(err) { // of a session that has no transaction; see reset
			err = errors.Join(err, s.End(ctx, d.User))
		}
		return Result{}, err
	}
	r.Journal.settleFiles(d.Name, r.Journal.filesAt(d.Name))
	return Result{Way: plan.Way, Warnings: plan.Warnings, Connections: connections}, nil
}
