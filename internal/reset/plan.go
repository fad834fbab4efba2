package reset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Way is how a database is put back.
type Way string

// The ways, the cheapest first.
const (
	// Noop: nothing had changed.
	Noop Way = "noop"
	// Undo: inverted row events undo the changes of rows.
	Undo Way = "rewind"
	// Refill: some tables are filled from the template, or made again.
	Refill Way = "refill"
	// Reclone: the whole database is cloned again.
	Reclone Way = "reclone"
)

// Plan says what to do to put a database back. It does not depend on a session.
type Plan struct {
	Way Way
	// Why says why a cheaper way is not possible; "" for Noop and Undo.
	Why string
	// Undo are the changes of rows to undo, those of each table in the order of the log.
	Undo []binlog.Change
	// NeedsRefill are the tables to fill from the template.
	NeedsRefill map[string]bool
	// Sequences are the sequences to put back.
	Sequences []string
	// Structure says to compare the shape of the database with the template's; of the tables in
	// Suspect, by their definitions.
	Structure bool
	Suspect   map[string]bool
	// Remake names those to make again though their definitions are the template's. No definition
	// shows a default of a column with AUTO_INCREMENT, which MariaDB inserts, or disabled keys, which
	// MySQL leaves disabled in a table that is emptied.
	Remake map[string]bool
	// ReadOnly says that the database may have been made read-only.
	ReadOnly bool
	// Rollback are the XA transactions to roll back.
	Rollback []binlog.XID
	Warnings []string
}

// String describes the plan in words.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", p.Way)
	if len(p.Undo) > 0 {
		fmt.Fprintf(&b, ", undo %d events", len(p.Undo))
	}
	if len(p.NeedsRefill) > 0 {
		fmt.Fprintf(&b, ", fill %s", strings.Join(sorted(p.NeedsRefill), " "))
	}
	if len(p.Sequences) > 0 {
		fmt.Fprintf(&b, ", restart %s", strings.Join(p.Sequences, " "))
	}
	if p.Structure {
		fmt.Fprintf(&b, ", compare shapes")
	}
	if len(p.Rollback) > 0 {
		fmt.Fprintf(&b, ", roll back %d XA transactions", len(p.Rollback))
	}
	if p.Why != "" {
		fmt.Fprintf(&b, ": %s", p.Why)
	}
	return b.String()
}

func sorted(set map[string]bool) []string {
	var list []string
	for name, in := range set {
		if in {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Make returns the cheapest plan that puts the database back. cascadesLogged says that the
// server logs the rows that foreign keys change.
func Make(c *Changes, shape *template.Shape, cascadesLogged bool) Plan {
	return makePlan(c, shape, cascadesLogged, false)
}

// MakeRows is Make for going back to a savepoint, whose rows the template does not have: it
// undoes changes of rows even where filling would be cheaper. A plan that fills tables all the
// same cannot be used.
func MakeRows(c *Changes, shape *template.Shape, cascadesLogged bool) Plan {
	return makePlan(c, shape, cascadesLogged, true)
}

func makePlan(c *Changes, shape *template.Shape, cascadesLogged, rowsOnly bool) Plan {
	p := Plan{Way: Noop, Rollback: c.Prepared, Warnings: c.Warnings, NeedsRefill: map[string]bool{}, Suspect: map[string]bool{}, Remake: map[string]bool{}}
	m := maker{changes: c, shape: shape, plan: &p, rowsOnly: rowsOnly}
	if why := m.mustReclone(); why != "" {
		p.Way, p.Why = Reclone, why
		p.Undo = nil
		return p
	}
	m.statements()
	m.tables()
	if !cascadesLogged {
		m.cascades()
	}
	// A table that needs a refill has passed that on along its keys by now.
	p.Undo = nil
	for _, name := range m.changed() {
		switch t := shape.Table(name); {
		case t == nil:
		case t.Kind == template.Sequence: // its next value is where it was, whatever became of rows
			p.Sequences = append(p.Sequences, name)
		case !p.NeedsRefill[name]:
			p.Undo = append(p.Undo, c.Tables[name].Rows...)
		}
	}
	switch {
	case p.Structure:
		p.Way, p.Why = Refill, "statements changed its shape, or may have"
	case len(p.NeedsRefill) > 0:
		p.Way, p.Why = Refill, m.why
	case len(p.Undo)+len(p.Sequences) > 0:
		p.Way = Undo
	}
	return p
}

// maker fills in a plan.
type maker struct {
	changes *Changes
	shape   *template.Shape
	plan    *Plan
	// rowsOnly says that nothing is filled because that is cheaper.
	rowsOnly bool
	// why is the first reason for filling a table.
	why string
}

// changed are the tables with changed rows, in the order of their names.
func (m *maker) changed() []string {
	names := make([]string, 0, len(m.changes.Tables))
	for name := range m.changes.Tables {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (m *maker) refill(table, why string) {
	if m.plan.NeedsRefill[table] {
		return
	}
	m.plan.NeedsRefill[table] = true
	if m.why == "" {
		m.why = why
	}
}

// mustReclone says why the whole database is to be made again, "" if it need not.
func (m *maker) mustReclone() string {
	if m.changes.Incomplete != "" {
		return m.changes.Incomplete
	}
	for _, name := range m.changed() {
		switch t := m.shape.Table(name); {
		case t == nil && !m.changes.Statements:
			return "rows of the table " + name + " changed, which the template does not have"
		case t != nil && t.Kind != template.Base && t.Kind != template.Sequence:
			return "the table " + name + " is a " + strings.ToLower(string(t.Kind)) + " one, and changed"
		}
	}
	for _, t := range m.shape.Tables {
		if t.Kind != template.Base && m.changes.mentions(t.Name) {
			return "a statement may have changed " + t.Name + ", a " + strings.ToLower(string(t.Kind)) + " table"
		}
	}
	if m.changes.mentions("exchange") {
		return "partitions were exchanged"
	}
	return ""
}

// statements settles what the statements that were logged as text may have touched.
func (m *maker) statements() {
	if !m.changes.Statements {
		return
	}
	m.plan.Structure = true
	m.plan.ReadOnly = m.changes.mentions("read") // ALTER DATABASE ... READ ONLY
	defaults, disabled := m.changes.mentions("default"), m.changes.mentions("keys")
	for _, t := range m.shape.Tables {
		if m.changes.mentions(t.Name) {
			m.plan.Suspect[t.Name] = true
			m.plan.Remake[t.Name] = defaults || disabled && t.Engine != "InnoDB" // which disables none
			m.refill(t.Name, "a statement may have changed "+t.Name)
		}
	}
	// The definition of a child follows its parent's when that is renamed, or a column of it.
	for _, k := range m.shape.Keys {
		if m.changes.mentions(k.Parent) {
			m.plan.Suspect[k.Child] = true
		}
	}
}

// Costs of putting back, in microseconds, rough and rather too high: by row
// undone, by row filled, and by table filled, by INSERT or from a file. Measured on MariaDB 10.11
// and MySQL 9.7.
const (
	undoRow   = 5.0
	fillRow   = 3.0
	fillTable = 1000.0
	fileRow   = 0.3
	fileTable = 10000.0
)

// fillCost is what it costs to fill a table again of which some rows changed.
func (m *maker) fillCost(t *template.Table, changed int) float64 {
	if m.shape.ByFile(t) {
		return float64(t.Rows)*fileRow + fileTable
	}
	return float64(t.Rows)*2*fillRow + float64(changed)*fillRow + fillTable
}

// tables settles which tables are cheaper to fill than to undo, or cannot be undone.
func (m *maker) tables() {
	for _, name := range m.changed() {
		t, c := m.shape.Table(name), m.changes.Tables[name]
		switch {
		case t == nil || t.Kind == template.Sequence || m.plan.NeedsRefill[name]:
		case c.NeedsRefill:
			m.refill(name, "what happened to the rows of "+name+" is not known, or too much to keep")
		default:
			m.weigh(t, c)
		}
	}
}

func (m *maker) weigh(t *template.Table, c *TableChanges) {
	if !t.Keyed {
		// Of two rows that are the same the wrong one may go, and what was deleted comes
		// back at the end.
		m.refill(t.Name, "rows of "+t.Name+", which has no key, would come back in another order")
		return
	}
	if t.Engine != "InnoDB" {
		// Other engines put rows where there is room, whatever keys there are.
		m.refill(t.Name, "rows of "+t.Name+", whose engine keeps them in no order, would come back in another")
		return
	}
	rows := 0
	for _, change := range c.Rows {
		if !onlyComputed(change.Rows, t) {
			m.refill(t.Name, "the binary log does not have all columns of "+t.Name)
			return
		}
		n, err := change.Map.Count(change.Rows)
		if err != nil || !change.Map.SameShape(c.Rows[0].Map) {
			m.refill(t.Name, "the rows of "+t.Name+" cannot be inverted")
			return
		}
		rows += n
	}
	undo := float64(rows) * undoRow
	if undo > m.fillCost(t, rows) && !m.rowsOnly {
		m.refill(t.Name, fmt.Sprintf("filling %s again is cheaper than undoing %d rows", t.Name, rows))
	}
}

// onlyComputed reports whether the server computes all that the images of a table's rows lack. No
// row is looked for by such a column: the servers that leave them out allow none in a key that makes
// a table Keyed.
func onlyComputed(r binlog.Rows, t *template.Table) bool {
	if r.Full() {
		return true
	}
	for i, c := range t.Columns {
		if !c.Generated && !r.Has(i) {
			return false
		}
	}
	return true
}

// cascades finds the tables that foreign keys changed: nothing in the log tells what
// happened to their rows.
func (m *maker) cascades() {
	for again := true; again; {
		again = false
		for _, k := range m.shape.Keys {
			if m.plan.NeedsRefill[k.Child] || !m.followed(k) {
				continue
			}
			m.refill(k.Child, "a foreign key may have changed "+k.Child+", and the server does not log that")
			again = true
		}
	}
}

// followed reports whether the server may have followed a foreign key. Of a table whose
// rows are not known anything may have been deleted.
func (m *maker) followed(k template.ForeignKey) bool {
	if !k.OnDelete && !k.OnUpdate {
		return false
	}
	if m.plan.NeedsRefill[k.Parent] {
		return true
	}
	t := m.changes.Tables[k.Parent]
	if t == nil {
		return false
	}
	for _, change := range t.Rows {
		switch change.Rows.Kind {
		case binlog.Delete:
			if k.OnDelete {
				return true
			}
		case binlog.Update:
			if !k.OnUpdate {
				continue
			}
			if changed, err := change.Map.Changed(change.Rows, k.Columns); changed || err != nil {
				return true
			}
		}
	}
	return false
}
