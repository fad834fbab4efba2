package rewind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Database is a clone of a template that is to be put back.
type Database struct {
	Name string
	// User is the account that uses it; its open transactions are ended.
	User  string
	Shape *template.Shape
	// Counters are the AUTO_INCREMENT values above 1 that it began with, by table.
	Counters map[string]uint64
}

// Rewinder puts databases of one server back. Its Journal watches their templates as well:
// of a template that was changed no clone can be made, and nothing filled.
type Rewinder struct {
	Server  *server.Server
	Journal *Journal
	// ServerID is written into events that are turned round.
	ServerID uint32
}

// Result is what a Reset did.
type Result struct {
	Way      Way
	Why      string
	Warnings []string
}

// ErrTemplateChanged says that a template is not what it was.
var ErrTemplateChanged = errors.New("the template was changed")

// templateChanged returns an error if a template is not what it was.
func (r *Rewinder) templateChanged(name string) error {
	if why := r.Journal.Changed(name); why != "" {
		return fmt.Errorf("%w: %s\nhint: ramaria template add %s takes it as it is now", ErrTemplateChanged, why, name)
	}
	return nil
}

// Clone makes a database from its template and begins to watch it. It returns the
// counters that it begins with.
func (r *Rewinder) Clone(ctx context.Context, s *Session, shape *template.Shape, name string) (map[string]uint64, error) {
	if err := r.templateChanged(shape.Name); err != nil {
		return nil, err
	}
	r.Journal.Read()
	r.Journal.Watch(name)
	counters, err := r.clone(ctx, s, shape, name)
	if err != nil {
		r.Journal.Forget(name)
		return nil, err
	}
	return counters, nil
}

func (r *Rewinder) clone(ctx context.Context, s *Session, shape *template.Shape, name string) (map[string]uint64, error) {
	if err := shape.Clone(ctx, s.Conn, name); err != nil {
		return nil, err
	}
	return s.counters(ctx, name)
}

// Reset puts a database back. After an error the database is not to be used: the next
// Reset makes it again.
func (r *Rewinder) Reset(ctx context.Context, s *Session, d *Database) (Result, error) {
	res, err := r.reset(ctx, s, d)
	if err != nil {
		r.Journal.Doubt(d.Name, "the last reset failed")
		return Result{}, fmt.Errorf("reset %s: %w", d.Name, err)
	}
	return res, nil
}

func (r *Rewinder) reset(ctx context.Context, s *Session, d *Database) (Result, error) {
	if err := r.endTransactions(ctx, s, d); err != nil {
		return Result{}, err
	}
	plan := Make(r.Journal.Take(d.Name), d.Shape, r.Server.LogsCascades())
	res := Result{Way: plan.Way, Why: plan.Why, Warnings: plan.Warnings}
	err := r.apply(ctx, s, d, &plan)
	again := func(why string) {
		// What was done meanwhile goes with the database.
		plan = Plan{Way: Reclone, Why: why, Rollback: r.Journal.Take(d.Name).Prepared}
		err = r.apply(ctx, s, d, &plan)
	}
	switch {
	case err != nil && server.LockTimeout(err):
		// A session of the user holds a lock without a transaction.
		if err = s.End(ctx, d.User); err == nil {
			res.Warnings = append(res.Warnings, "all connections of the database were ended, since one held a lock on a table")
			again("a lock stood in the way")
		}
	case err != nil && plan.Way != Reclone && ctx.Err() == nil:
		// Whatever it was, making the database again needs nothing that is there.
		again(err.Error())
	case err == nil && (plan.Way == Rewind || plan.Way == Refill) && r.Journal.Changed(d.Name) != "":
		again("it was changed while it was put back")
	}
	if err == nil && plan.Way == Reclone && r.Journal.Changed(d.Name) != "" {
		// Whether that was before it was made or after, nobody can tell.
		r.Journal.Doubt(d.Name, "it was changed while it was made again")
	}
	res.Way, res.Why = plan.Way, plan.Why
	return res, err
}

// End ends all connections of a user, and waits until they are gone.
func (s *Session) End(ctx context.Context, user string) error {
	threads, err := s.connections(ctx, user)
	if err != nil {
		return err
	}
	return s.kill(ctx, threads)
}

// endTransactions ends the connections that have a transaction open: it could still
// commit, holds locks, or shows what is gone.
func (r *Rewinder) endTransactions(ctx context.Context, s *Session, d *Database) error {
	open, err := r.Server.OpenTransactions(ctx, s.Conn, d.User)
	if errors.Is(err, server.ErrUnseen) {
		return s.End(ctx, d.User)
	}
	if err != nil || len(open) == 0 {
		return err
	}
	threads := make([]uint64, len(open))
	for i, t := range open {
		threads[i] = t.Thread
	}
	if err := s.kill(ctx, slices.Clone(threads)); err != nil {
		return err
	}
	// MariaDB forgets a connection before InnoDB has let go of its transaction. One that is
	// prepared would be rolled back in name only until then, and keep its locks for good.
	for {
		if open, err = r.Server.OpenTransactions(ctx, s.Conn, d.User); err != nil {
			return err
		}
		if !slices.ContainsFunc(open, func(t server.Transaction) bool { return slices.Contains(threads, t.Thread) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for transactions to end: %w", ctx.Err())
		case <-time.After(gonePoll):
		}
	}
}

// apply carries out a plan.
func (r *Rewinder) apply(ctx context.Context, s *Session, d *Database, p *Plan) error {
	for _, x := range p.Rollback {
		err := s.exec(ctx, "XA ROLLBACK "+x.String())
		switch {
		case err == nil:
			r.Journal.RolledBack(x)
		case !server.NoSuchXID(err): // it had its verdict, which the log will tell
			return fmt.Errorf("roll back a prepared transaction: %w", err)
		}
	}
	if p.Way == Reclone {
		return r.again(ctx, s, d)
	}
	if err := r.fill(ctx, s, d, p); err != nil {
		return err
	}
	if err := s.undo(ctx, p.Undo, r.Journal.Format(), r.ServerID); err != nil {
		return err
	}
	have, err := s.counters(ctx, d.Name)
	if err != nil {
		return err
	}
	return s.restore(ctx, d.Name, d.Counters, have)
}

// again makes the database once more.
func (r *Rewinder) again(ctx context.Context, s *Session, d *Database) error {
	if err := r.templateChanged(d.Shape.Name); err != nil {
		return err
	}
	if err := template.Drop(ctx, s.Conn, d.Name); err != nil {
		return err
	}
	counters, err := r.clone(ctx, s, d.Shape, d.Name)
	if err != nil {
		return err
	}
	d.Counters = counters
	return nil
}

// fill takes from the template what cannot be undone.
func (r *Rewinder) fill(ctx context.Context, s *Session, d *Database, p *Plan) error {
	if len(p.Doubtful) == 0 && !p.Structure {
		return nil
	}
	if err := r.templateChanged(d.Shape.Name); err != nil {
		return err
	}
	if !p.Structure {
		return d.Shape.Refill(ctx, s.Conn, d.Name, sorted(p.Doubtful))
	}
	have, err := template.ReadSome(ctx, s.Conn, d.Name, func(table string) bool { return p.Suspect[table] })
	if err != nil {
		return err
	}
	repair := d.Shape.Compare(have, p.Doubtful)
	p.dropUndo(repair.Remake)
	return d.Shape.Mend(ctx, s.Conn, d.Name, repair)
}

// dropUndo takes out the changes of tables that are made again.
func (p *Plan) dropUndo(tables []string) {
	undo := p.Undo[:0]
	for _, change := range p.Undo {
		if !slices.Contains(tables, change.Map.Table) {
			undo = append(undo, change)
		}
	}
	p.Undo = undo
}
