package reset

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Database is a clone of a template, and what is needed to put it back.
type Database struct {
	Name string
	// User is the account that uses it. A reset ends its open transactions.
	User  string
	Shape *template.Shape
	// Counters are the AUTO_INCREMENT values above 1 of the new clone, by table.
	Counters map[string]uint64
	// sequences are where they stood at the savepoint that it is put back to, nil for those of Shape.
	sequences map[string]template.SequenceState

	// Asleep says that its events do not fire, because it is not leased.
	Asleep bool

	// foreign are prepared XA transactions that are known to be had by connections of others.
	foreign map[string]bool

	// savepoint is where RollBack leads, nil for nowhere, and lost why it is gone, "" if none was set.
	savepoint *savepointState
	lost      string
}

// Renewed is what is known of a database that is to be made again: nothing.
func (d *Database) Renewed(name, user string, shape *template.Shape, why string) Database {
	next := Database{Name: name, User: user, Shape: shape, lost: d.lost}
	if d.savepoint != nil {
		next.lost = why
	}
	return next
}

// Engine puts databases of one server back. Its Journal watches the templates as well: a
// template that was changed can no longer be cloned or filled from.
type Engine struct {
	Server  *server.Server
	Journal *Journal
	// ServerID is the server id that inverted events carry.
	ServerID uint32
	// DB opens connections that find out what a session waits for; with nil the engine does not
	// look.
	DB *sql.DB
	// Leased reports whether an account can use its own database only; nil means that none is
	// known to.
	Leased func(user string) bool
	// StandIn is the account that defines what clones have of others; "" is none. See template.Definers.
	StandIn string

	sampling sampling
	// verifying is held while a reset compares a template with what it was.
	verifying sync.Mutex
	strangers strangers
}

// Result says how a database was put back: the way, why no cheaper one, and what the caller
// should know.
type Result struct {
	Way      Way
	Why      string
	Warnings []string
	// Connections are those of the account that stay open, with what their sessions hold. They are not known
	// where all were ended.
	Connections []uint64
}

// Clone makes a database from its template and starts to watch it. It returns the
// AUTO_INCREMENT values that the clone starts with, for Database.Counters. The error matches
// ErrTemplateChanged if the template was changed.
func (r *Engine) Clone(ctx context.Context, s *Session, shape *template.Shape, name string) (map[string]uint64, error) {
	return r.watched(ctx, s, shape, name, shape.Clone)
}

// CloneAsleep is Clone for a database that is not leased yet: its events do not fire.
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
	r.Journal.MarkRows(name, shape)
	return counters, nil
}

// Counters says whether a reset puts AUTO_INCREMENT back.
type Counters bool

// KeepCounters leaves AUTO_INCREMENT as it is, as DELETE does, where only rows are undone. A later
// reset with RestoreCounters puts it back all the same.
const (
	RestoreCounters Counters = false
	KeepCounters    Counters = true
)

// Reset puts a database back to its template, and drops its savepoint. After an error the
// database must not be used; the next Reset clones it again. Errors match ErrTemplateChanged
// and ErrLocked.
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
	changes, counters, connections, err := r.take(ctx, s, d, c)
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
	res := Result{Way: plan.Way, Why: plan.Why, Warnings: plan.Warnings, Connections: connections}
	if err == nil {
		err = r.apply(ctx, s, d, &plan, counters, c)
	}
	again := func(why string) {
		// Changes made meanwhile are dropped with the database.
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
			res.Connections = nil
			res.Warnings = append(res.Warnings, "all connections of the database were ended, since one held a lock on a table")
			again("a lock stood in the way")
		}
	case err != nil && plan.Way != Reclone && ctx.Err() == nil:
		// Whatever it was, making the database again needs nothing that is there.
		again(err.Error())
	case err == nil && (plan.Way == Undo || plan.Way == Refill) && r.Journal.Changed(d.Name) != "":
		again("it was changed while it was put back")
	}
	if dbconn.OthersRows(err) {
		if err = s.End(ctx, d.User); err == nil {
			res.Connections = nil
			res.Warnings = append(res.Warnings, "all connections of the database were ended, since one wrote to it while it was made again")
			again("rows were written to it while it was made again")
		}
		err = written(err)
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
		if plan.Way != Noop {
			r.Journal.MarkRows(d.Name, d.Shape)
		}
	}
	res.Way, res.Why = plan.Way, plan.Why
	return res, err
}

// written is the error of a database that could not be made again since others write to it all the time.
func written(err error) error {
	if !dbconn.OthersRows(err) {
		return err
	}
	return fmt.Errorf("%w: it writes rows to the database while that is made again: %w\nhint: SHOW FULL PROCESSLIST lists connections; end the one that writes (KILL ID), and try again", ErrLocked, err)
}

// take ends the transactions that a database has open, and takes what happened to it. The counters
// are from after that, nil if they are yet to be asked for, or not to be; then come the connections that stay.
func (r *Engine) take(ctx context.Context, s *Session, d *Database, c Counters) (*Changes, map[string]uint64, []uint64, error) {
	if err := r.RollBackPrepared(ctx, s, d); err != nil {
		return nil, nil, nil, err
	}
	events := r.Journal.Events(d.Name)
	var rest left
	counters, err := r.endTransactions(ctx, s, d, c, &rest)
	if err != nil {
		return nil, nil, nil, err
	}
	ended := false
	if len(rest.prepared) > 0 {
		if ended, err = r.release(ctx, s, d, rest.prepared); err != nil {
			return nil, nil, nil, err
		}
	}
	changes := r.Journal.takeAll(d)
	if ended {
		rest.connections = nil
		changes.warn("all connections of the database were ended, since one may have had a prepared XA transaction")
	}
	if changes.Events != events { // they may be from before
		counters = nil
	}
	return changes, counters, rest.connections, nil
}
