package durable

import (
	"bytes"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// meter counts what of a log it takes time to replay: how many bytes the log has says little of that. It is for a
// goroutine that follows the log, and others that ask.
type meter struct {
	maps binlog.Maps
	byID map[uint64]*binlog.TableMap
	// mapped is the table that was named last, nil if that cannot be read.
	mapped *binlog.TableMap

	mu sync.Mutex // guards what follows
	// costs are those of the server, and carried is the work behind the newest base that is not counted here.
	costs   server.ReplayCosts
	carried time.Duration
	// since is what came since the newest base was begun, and fresh what came since the last that was begun at all.
	since, fresh tally
	// keyless says of tables whether rows are searched there without a unique key; of others that is not known.
	keyless map[repeatable.Table]bool
}

// tally is what there is to replay.
type tally struct {
	groups, statements, rows, bytes int64
	// changed is how many rows were updated or deleted, by table.
	changed map[repeatable.Table]int64
}

// mostMetered bounds how many tables a tally has.
const mostMetered = 4096

func (t *tally) change(of repeatable.Table, rows int64) {
	if t.changed == nil {
		t.changed = map[repeatable.Table]int64{}
	}
	if _, known := t.changed[of]; known || len(t.changed) < mostMetered {
		t.changed[of] += rows
	}
}

// cost is how long a server is expected to take for it.
func (t *tally) cost(c server.ReplayCosts, keyless map[repeatable.Table]bool) time.Duration {
	d := time.Duration(t.groups)*c.Group + time.Duration(t.statements)*c.Statement + time.Duration(t.rows)*c.Row + seconds(float64(t.bytes)/c.Rate)
	for of, rows := range t.changed {
		if keyless[of] {
			d += time.Duration(rows) * c.Searched
		}
	}
	return d
}

// metered reports whether a meter wants the body of an event: all of a rows event that has several rows, as servers write
// them. One that is longer has one row.
func metered(t binlog.EventType, length int64) bool {
	const longest = 64 << 10
	return t == binlog.TableMapEvent || t.Rows() != binlog.NotRows && length <= longest
}

// packed is how many bytes of an event whose rows cannot be read are taken for one.
const packed = 64

// take counts an event.
func (m *meter) take(e *binlog.Event) {
	m.event(e)
	if e.Type != binlog.QueryEvent || binlog.Begins(e) {
		return
	}
	if q, err := binlog.ParseQuery(e); err == nil && !q.Is("BEGIN") && !q.Is("COMMIT") {
		m.statement(q.SQL)
	}
}

// event counts an event, of which metered says whether it has its body.
func (m *meter) event(e *binlog.Event) {
	var of repeatable.Table
	rows, kind := int64(0), e.Type.Rows()
	switch _, unread := e.RowsTable(); {
	case e.Type == binlog.TableMapEvent:
		m.table(e)
	case kind != binlog.NotRows:
		rows, of = m.rows(e)
	case unread, e.Type == binlog.TransactionPayloadEvent:
		rows = 1 + e.Length/packed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range []*tally{&m.since, &m.fresh} {
		t.bytes += e.Length
		t.rows += rows
		switch e.Type {
		case binlog.MariaGTIDEvent, binlog.GTIDEvent, binlog.AnonymousGTIDEvent, binlog.TaggedGTIDEvent:
			t.groups++
		}
		if of != (repeatable.Table{}) && kind != binlog.Write {
			t.change(of, rows)
		}
	}
}

// rows are about how many rows an event has, and of which table, if that is known.
func (m *meter) rows(e *binlog.Event) (n int64, of repeatable.Table) {
	if len(e.Body) == 0 {
		return 1, of
	}
	r, err := binlog.ParseRows(e)
	if err != nil {
		return 1, of // the archive keeps what is damaged, and a recovery says so
	}
	t := m.byID[r.TableID]
	if t == nil {
		return 1, of
	}
	return t.About(r), repeatable.Table{Schema: t.Schema, Name: t.Table}
}

func (m *meter) table(e *binlog.Event) {
	t, err := m.maps.Get(e)
	if err != nil {
		m.mapped = nil
		return // then its rows count as one each
	}
	if m.byID == nil || len(m.byID) >= mostMetered {
		m.byID = map[uint64]*binlog.TableMap{}
	}
	m.byID[t.ID], m.mapped = t, t
}

// statement counts a statement that is there as text, and forgets what is known of the tables that it may be about.
func (m *meter) statement(text []byte) {
	text = bytes.ToLower(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since.statements++
	m.fresh.statements++
	for of := range m.keyless {
		if binlog.MayName(text, of.Name) {
			delete(m.keyless, of)
		}
	}
}

// begin says that a base is begun, and based that it is there: it has what came before it was begun.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = tally{}
}

func (m *meter) based() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.carried, m.since = 0, m.fresh
	m.fresh = tally{}
}

// work is how long it is expected to take to replay what came since the newest base.
func (m *meter) work() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.carried + m.since.cost(m.costs, m.keyless)
}

// manyChanged is how many rows of a table must have been updated or deleted that it matters whether it has a key.
const manyChanged = 2000

// unknown are tables of which it matters whether they have a key, and that is not known.
func (m *meter) unknown() (list []repeatable.Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, rows := range m.since.changed {
		if _, known := m.keyless[of]; !known && rows >= manyChanged {
			list = append(list, of)
		}
	}
	return list
}

// know says whether a table lacks a unique key.
func (m *meter) know(of repeatable.Table, keyless bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keyless == nil || len(m.keyless) >= mostMetered {
		m.keyless = map[repeatable.Table]bool{}
	}
	m.keyless[of] = keyless
}

// carried is the work behind the newest base, as far as an epoch's log went when it was said last; what was there when the
// epoch began, if nothing was said since. It is not known of an archive that says nothing of it.
func (a *Archive) carried(epoch uint32) (work time.Duration, known bool) {
	for _, x := range a.extents {
		if x.Archive == a.Manifest.ID && x.Epoch == epoch && x.Work > 0 {
			return x.Work, true
		}
	}
	if last := a.Manifest.Last(); last != nil && last.Number == epoch && last.Work > 0 {
		return seconds(last.Work), true
	}
	return 0, false
}

// work is the work behind the newest base.
func (k *Keeper) work() time.Duration { return k.gate().meter.work() }

// carry is the work that a Keeper which begins in an epoch, at the end of its log, does not count itself.
func (k *Keeper) carry(epoch uint32, end archive.Position) time.Duration {
	b, since, ok := k.newest()
	if !ok || b.Epoch == epoch && !k.fences.trusted { // all of the log behind the base was read again
		return 0
	}
	if !k.fences.trusted {
		return seconds(k.Archive.Manifest.Last().Work)
	}
	return k.Archive.describedWork(k.Policy, epoch, end, since)
}

// Unknown are tables without a known key whose replay depends on that.
func (k *Keeper) Unknown() []repeatable.Table { return k.gate().meter.unknown() }

// Keyless tells of a table whether it lacks a unique key.
func (k *Keeper) Keyless(t repeatable.Table, keyless bool) { k.gate().meter.know(t, keyless) }
