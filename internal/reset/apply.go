package reset

import (
	"context"
	"slices"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/template"
)

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
	// Known counters are put back together with the rows.
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
	most, err := s.statementBytes(ctx)
	if err != nil {
		return err
	}
	return s.undo(ctx, p.Undo, f, binlog.InvertOptions{Flavour: f.Flavour, ServerID: r.ServerID, MaxBytes: most, Key: keys(d.Shape)}, restore)
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
