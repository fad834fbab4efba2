package reset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
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
	// sequences are where they stood at the savepoint that it is put back to, nil for those of Shape.
	sequences map[string]template.SequenceState

	// Asleep says that it has no events that fire, since it is not leased.
	Asleep bool

	// foreign are prepared XA transactions that are known to be had by connections of others.
	foreign map[string]bool

	// savepoint is where RollBack leads, nil for nowhere.
	savepoint *savepointState
}

// Engine puts databases of one server back. Its Journal watches their templates as well:
// of a template that was changed no clone can be made, and nothing filled.
type Engine struct {
	Server  *server.Server
	Journal *Journal
	// ServerID is written into inverted events.
	ServerID uint32
	// DB opens connections that look at what a session waits for; nil for none.
	DB *sql.DB
	// Leased reports whether an account reaches no database but one of its own; nil for none.
	Leased func(user string) bool

	sampling sampling
	// verifying is held while a reset compares a template with what it was.
	verifying sync.Mutex
	strangers strangers
}

// Result is what a Reset did.
type Result struct {
	Way      Way
	Why      string
	Warnings []string
}

// Clone makes a database from its template and begins to watch it. It returns the
// counters that it begins with.
func (r *Engine) Clone(ctx context.Context, s *Session, shape *template.Shape, name string) (map[string]uint64, error) {
	return r.watched(ctx, s, shape, name, shape.Clone)
}

// CloneAsleep is Clone of one that is not leased yet.
func (r *Engine) CloneAsleep(ctx context.Context, s *Session, shape *template.Shape, name string) (map[string]uint64, error) {
	return r.watched(ctx, s, shape, name, shape.CloneAsleep)
}

func (r *Engine) watched(ctx context.Context, s *Session, shape *template.Shape, name string, clone func(context.Context, *sql.Conn, string) (map[string]uint64, error)) (map[string]uint64, error) {
	if err := r.Unchanged(ctx, s, shape); err != nil {
		return nil, err
	}
	r.Journal.Read()
	r.Journal.Watch(name)
	var counters map[string]uint64
	_, err := r.Unlocked(ctx, s, &Database{Name: name, Shape: shape}, func() (err error) {
		counters, err = clone(ctx, s.Conn, name)
		return err
	})
	if err != nil {
		r.Journal.Forget(name)
		return nil, err
	}
	r.Journal.settleFiles(name, r.Journal.filesAt(name))
	return counters, nil
}

// Counters says what putting a database back does about AUTO_INCREMENT.
type Counters bool

// What may become of counters. With KeepCounters they stay where they are, as DELETE leaves them,
// where rows alone are undone; the next to restore them puts them back all the same.
const (
	RestoreCounters Counters = false
	KeepCounters    Counters = true
)

// Reset puts a database back to its template; a savepoint is gone. After an error the database is
// not to be used: the next Reset makes it again.
func (r *Engine) Reset(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	r.releaseSavepoint(d)
	var res Result
	warnings, err := r.Unlocked(ctx, s, d, func() (err error) {
		res, err = r.reset(ctx, s, d, c)
		return err
	})
	res.Warnings = append(res.Warnings, warnings...)
	if err != nil {
		r.failed(d, res.Warnings, "the last reset failed")
		return Result{}, fmt.Errorf("reset %s: %w", d.Name, err)
	}
	return res, nil
}

// failed says that a database is not as it should be, and leaves the warnings, which no client was
// told, to the next who puts it back.
func (r *Engine) failed(d *Database, warnings []string, why string) {
	r.Journal.Return(d.Name, &Changes{Warnings: warnings})
	r.Journal.Invalidate(d.Name, why)
}

// reset is Reset. After an error the result has the warnings.
func (r *Engine) reset(ctx context.Context, s *Session, d *Database, c Counters) (Result, error) {
	if d.Asleep {
		if err := d.Shape.Sleep(ctx, s.Conn, d.Name); err != nil {
			return Result{}, err
		}
		// This takes longer than the rest of a small reset, so only others are spared what is hidden.
		if r.Server.HidesCounters() {
			if err := s.reopen(ctx, d.Name, d.Shape.Counted()); err != nil {
				return Result{}, err
			}
		}
	}
	changes, counters, err := r.take(ctx, s, d, c)
	if err != nil {
		return Result{}, err
	}
	plan := Make(changes, d.Shape, r.Server.LogsCascades())
	if plan.Way != Reclone && !plan.Structure {
		var strayed bool
		if strayed, err = r.strayed(ctx, s, d); strayed {
			plan.compareAll(d.Shape)
		}
	}
	res := Result{Way: plan.Way, Why: plan.Why, Warnings: plan.Warnings}
	if err == nil {
		err = r.apply(ctx, s, d, &plan, counters, c)
	}
	again := func(why string) {
		// What was done meanwhile goes with the database.
		meanwhile := r.Journal.Take(d.Name)
		res.Warnings = append(res.Warnings, meanwhile.Warnings...)
		plan = Plan{Way: Reclone, Why: why, Rollback: meanwhile.Prepared}
		err = r.apply(ctx, s, d, &plan, nil, c)
	}
	switch {
	case err != nil && dbconn.Interrupted(err): // a lock stands in the way that is not its own
	case err != nil && dbconn.LockTimeout(err):
		// A session of the user holds a lock without a transaction.
		if err = s.End(ctx, d.User); err == nil {
			res.Warnings = append(res.Warnings, "all connections of the database were ended, since one held a lock on a table")
			again("a lock stood in the way")
		}
	case err != nil && plan.Way != Reclone && ctx.Err() == nil:
		// Whatever it was, making the database again needs nothing that is there.
		again(err.Error())
	case err == nil && (plan.Way == Undo || plan.Way == Refill) && r.Journal.Changed(d.Name) != "":
		again("it was changed while it was put back")
	}
	if err == nil && plan.Way == Reclone && r.Journal.Changed(d.Name) != "" {
		// Whether that was before it was made or after is not known.
		r.Journal.Invalidate(d.Name, "it was changed while it was made again")
	}
	if err == nil && d.Asleep && plan.Structure { // which made them again
		err = d.Shape.Sleep(ctx, s.Conn, d.Name)
	}
	if err == nil {
		r.Journal.settleFiles(d.Name, r.Journal.filesAt(d.Name))
	}
	res.Way, res.Why = plan.Way, plan.Why
	return res, err
}

// take ends the transactions that a database has open, and takes what happened to it. The counters
// are from after that, nil if they are yet to be asked for, or not to be.
func (r *Engine) take(ctx context.Context, s *Session, d *Database, c Counters) (*Changes, map[string]uint64, error) {
	events := r.Journal.Events(d.Name)
	var names []binlog.XID
	counters, err := r.endTransactions(ctx, s, d, c, &names)
	if err != nil {
		return nil, nil, err
	}
	ended := false
	if len(names) > 0 {
		if ended, err = r.release(ctx, s, d, names); err != nil {
			return nil, nil, err
		}
	}
	changes := r.Journal.Take(d.Name)
	if ended {
		changes.warn("all connections of the database were ended, since one may have had a prepared XA transaction")
	}
	if changes.Events != events { // they may be from before
		counters = nil
	}
	return changes, counters, nil
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
// commit, holds locks, or shows what is gone. It returns the counters as they are after
// that, nil if they are yet to be asked for, or not to be, and the names of all transactions that
// are prepared.
func (r *Engine) endTransactions(ctx context.Context, s *Session, d *Database, c Counters, names *[]binlog.XID) (map[string]uint64, error) {
	var asked, ended []uint64 // asked are the threads of the last answer
	var counters map[string]uint64
	if c == RestoreCounters {
		counters = map[string]uint64{}
	}
	atWork := statements{user: d.User}
	for {
		*names = (*names)[:0]
		ask := []dbconn.Question{atWork.ask(), prepared(names)}
		if counters != nil {
			clear(counters)
			ask = append(ask, askCounters(r.Server, d.Name, d.Shape, counters)...)
		}
		open, err := r.Server.Dialect().OpenTransactions(ctx, s.Conn, d.User, ask...)
		switch {
		case errors.Is(err, dbconn.ErrUnseen):
			return nil, errors.Join(s.End(ctx, d.User), dbconn.Ask(ctx, s.Conn, prepared(names)))
		case err != nil && counters != nil && ctx.Err() == nil:
			counters = nil // a table of the shape is gone, and will be there again
			continue
		case err != nil:
			return nil, err
		case len(open) == 0 && atWork.done():
			return counters, nil
		case len(open) == 0:
			asked = nil
			if err := atWork.end(ctx, s); err != nil {
				return nil, err
			}
			continue
		}
		if ended == nil {
			// Two answers in a row must have it: one may be wrong about an idle session.
			var threads, twice []uint64
			for _, t := range open {
				threads = append(threads, t.Thread)
				if slices.Contains(asked, t.Thread) {
					twice = append(twice, t.Thread)
				}
			}
			asked = threads
			if len(twice) == 0 {
				continue
			}
			ended = twice
			if err := s.kill(ctx, slices.Clone(ended)); err != nil {
				return nil, err
			}
			continue
		}
		// MariaDB forgets a connection before InnoDB has let go of its transaction. One that
		// is prepared would be rolled back in name only until then, and keep its locks for
		// good.
		if !slices.ContainsFunc(open, func(t dbconn.Transaction) bool { return slices.Contains(ended, t.Thread) }) {
			return counters, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for transactions to end: %w", ctx.Err())
		case <-time.After(gonePoll):
		}
	}
}

// apply carries out a plan. The counters are those of the database as it is, nil if they
// are to be asked for. What it undoes moves none of them: rows that are put back were
// inserted by the same changes, or lie below what the counters began with.
func (r *Engine) apply(ctx context.Context, s *Session, d *Database, p *Plan, counters map[string]uint64, c Counters) (err error) {
	if err := r.sampling.asBefore(ctx, s); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.sampling.failed()
		}
	}()
	if _, err := r.rollBack(ctx, s, p.Rollback); err != nil {
		return err
	}
	if p.Way == Reclone {
		return r.again(ctx, s, d)
	}
	if p.ReadOnly {
		if err := r.Server.Dialect().MakeWritable(ctx, s.Conn, d.Name); err != nil {
			return err
		}
	}
	if err := s.restart(ctx, d, p.Sequences); err != nil {
		return err
	}
	if len(p.NeedsRefill) > 0 || p.Structure {
		if err := r.fill(ctx, s, d, p); err != nil {
			return err
		}
		counters = nil
	}
	// Of a table that is filled or made again a counter moves anyway, and on MySQL shows those of
	// its neighbours that were hidden.
	if c == KeepCounters && len(p.NeedsRefill) == 0 && !p.Structure {
		return r.undo(ctx, s, d, p, nil)
	}
	// What is to be done about counters that are known goes along with the undoing.
	known := counters != nil
	altered := map[string]uint64{}
	if known {
		altered = moved(d.Counters, counters)
	}
	if err := r.undo(ctx, s, d, p, r.setting(ctx, s, d.Name, altered)); err != nil {
		return err
	}
	if !known {
		counters, err := s.counters(ctx, d.Name, d.Shape)
		if err != nil {
			return err
		}
		altered = moved(d.Counters, counters)
		if err := s.restore(ctx, r.setting(ctx, s, d.Name, altered)); err != nil {
			return err
		}
	}
	if !r.Server.HidesCounters() {
		return nil
	}
	// Which of the tables that were filled or compared were made again was not kept.
	for _, set := range []map[string]bool{p.NeedsRefill, p.Suspect} {
		for table := range set {
			altered[table] = d.Counters[table]
		}
	}
	return r.settle(ctx, s, d, altered)
}

// restart puts sequences back.
func (s *Session) restart(ctx context.Context, d *Database, sequences []string) error {
	if len(sequences) == 0 {
		return nil
	}
	states := map[string]template.SequenceState{}
	for _, name := range sequences {
		states[name] = d.Shape.Table(name).State
		if at, known := d.sequences[name]; known {
			states[name] = at
		}
	}
	return template.Restart(ctx, s.Conn, d.Name, states)
}

// undo undoes the changes of rows in a plan, all or none, and then restores counters.
func (r *Engine) undo(ctx context.Context, s *Session, d *Database, p *Plan, restore []string) error {
	if len(p.Undo) == 0 {
		return s.restore(ctx, restore)
	}
	f := r.Journal.Format()
	return s.undo(ctx, p.Undo, f, binlog.InvertOptions{Flavour: f.Flavour, ServerID: r.ServerID, MaxBytes: maxStatement, Key: keys(d.Shape)}, restore)
}

// keys tells the primary keys of the tables of a shape. Those of tables with columns that only the
// log shows, as MariaDB's of unique texts, are none, nor are those of tables with columns that are
// computed: which of them are computed again for a row of which an event has a part only is each
// server's own affair, and an index or a CHECK would be wrong by it.
func keys(shape *template.Shape) func(*binlog.TableMap) []int {
	return func(m *binlog.TableMap) []int {
		t := shape.Table(m.Table)
		if t == nil || len(t.Columns) != len(m.Types) || slices.ContainsFunc(t.Columns, func(c template.Column) bool { return c.Generated }) {
			return nil
		}
		return t.Primary
	}
}

// again makes the database once more.
func (r *Engine) again(ctx context.Context, s *Session, d *Database) error {
	if err := r.Unchanged(ctx, s, d.Shape); err != nil {
		return err
	}
	if err := template.Drop(ctx, s.Conn, d.Name, r.Journal.dir); err != nil {
		return err
	}
	clone := d.Shape.Clone
	if d.Asleep {
		clone = d.Shape.CloneAsleep
	}
	counters, err := clone(ctx, s.Conn, d.Name)
	if err != nil {
		return err
	}
	d.Counters = counters
	return nil
}

// fill takes from the template what cannot be undone.
func (r *Engine) fill(ctx context.Context, s *Session, d *Database, p *Plan) error {
	if err := r.Unchanged(ctx, s, d.Shape); err != nil {
		return err
	}
	if !p.Structure {
		return d.Shape.Refill(ctx, s.Conn, d.Name, sorted(p.NeedsRefill))
	}
	have, err := template.ReadSome(ctx, s.Conn, d.Name, func(table string) bool { return p.Suspect[table] })
	if err != nil {
		return err
	}
	repair := d.Shape.Compare(have, p.NeedsRefill)
	repair.Again(p.Remake)
	p.dropUndo(repair.Remake)
	return d.Shape.Repair(ctx, s.Conn, d.Name, repair)
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
