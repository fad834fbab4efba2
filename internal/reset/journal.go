package reset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Journal follows the binary log of a server by reading its files, and records what happens to
// each watched database. It never guesses: where it may have missed something, it marks its
// record of the database concerned as incomplete, or that of every database if the log does not
// say which. Several goroutines may use it.
type Journal struct {
	dir, base string

	mu      sync.Mutex
	tail    *binlog.Tail
	maps    binlog.Maps
	format  *binlog.Format
	watched map[string]*Changes
	group   group
	// files are when files last came or went in the directories of watched databases whose shape was right then.
	files map[string]int64
	marks map[string]rowsMark
	// parted says when each database last had rows changed or deleted, by the number of the change, parts being that of
	// the newest. Where cascadesLogged, nobody needs to know.
	parted         map[string]int
	parts          int
	cascadesLogged bool
	// prepared are the XA transactions that wait for their verdict.
	prepared map[string]*group
	// losses is how often something of the log could not be read.
	losses int
	rights Rights
	// roles are those that all accounts have by a setting, as of the last time that it was asked for.
	roles string
	// leased says which accounts are those of leases, and mighty are these that Mighty is true of: as few as were given
	// such rights. standIn is that which defines what clones have of others, and blinding are the rights that count.
	leased   func(user string) bool
	standIn  string
	blinding []string
	mighty   map[string]bool
}

// group is a transaction that is being read.
type group struct {
	tables map[uint64]*binlog.TableMap
	// staged are its changes of watched databases, in bytes that many of images; those of a table in large are without.
	staged []binlog.Change
	bytes  int
	large  map[string]bool
	// undone is how many of these a ROLLBACK TO may have undone.
	undone int
	// xid is the name of an XA transaction, and rows says that it has events of rows, wherever. Of one
	// that wrote to tables that know no transactions the log has these before it.
	xid  *binlog.XID
	rows bool
	// schemas are the databases of these rows, also of such as were not watched then.
	schemas map[string]bool
	// session is the database of the session, where the log tells, and outside are the tables of
	// databases that are not watched whose rows it changed.
	session string
	outside []string
	// parts are the databases of which it changed or deleted rows.
	parts []string
}

// OpenJournal follows the log with the given base name in dir, starting with its newest file.
func OpenJournal(dir, base string) (*Journal, error) {
	j := &Journal{dir: dir, base: base, watched: map[string]*Changes{}, files: map[string]int64{}, marks: map[string]rowsMark{}, parted: map[string]int{}, prepared: map[string]*group{}, mighty: map[string]bool{}}
	if err := j.open(); err != nil {
		return nil, err
	}
	return j, nil
}

// open goes to the beginning of the newest file. What stands there is read again by the
// next Read; a database that is watched must be marked.
func (j *Journal) open() error {
	files, err := j.logFiles()
	if err != nil {
		return err
	}
	tail, err := binlog.OpenTail(j.dir, binlog.Position{File: files[len(files)-1]})
	if err != nil {
		return err
	}
	j.tail, j.maps, j.group, j.prepared = tail, binlog.Maps{}, group{}, map[string]*group{}
	return nil
}

// logFiles are the names of the log's files, the oldest first, one at least.
func (j *Journal) logFiles() ([]string, error) {
	files, err := binlog.Files(j.dir, j.base)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("find binary logs: %s has none of %s", j.dir, j.base)
	}
	return files, err
}

// Recover looks in the older files of the log for transactions that are prepared, namely those
// that the server had when it was restarted. What it cannot read there stays unknown.
func (j *Journal) Recover(list []binlog.XID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	files, err := j.logFiles()
	if list = slices.DeleteFunc(slices.Clone(list), func(x binlog.XID) bool { return j.prepared[x.String()] != nil }); err != nil || len(list) == 0 {
		return
	}
	old := Journal{watched: map[string]*Changes{}, prepared: map[string]*group{}}
	if old.tail, err = binlog.OpenTail(j.dir, binlog.Position{File: files[0]}); err != nil {
		return
	}
	defer old.tail.Close()
	var e binlog.Event
	for {
		ok, err := old.tail.Next(&e)
		if err != nil || !ok || e.File == files[len(files)-1] || old.take(&e) != nil {
			break
		}
	}
	for _, x := range list {
		if g := old.prepared[x.String()]; g != nil {
			j.prepared[x.String()] = g
		}
	}
}

// Close closes the files of the log.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tail != nil {
		j.tail.Close()
		j.tail = nil
	}
}

// Watch starts to record what happens to a database. Events that are in the log but not yet
// read count.
func (j *Journal) Watch(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watched[name] = &Changes{since: j.parts}
}

// Forget stops recording what happens to a database, and drops its record.
func (j *Journal) Forget(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.watched, name)
	delete(j.files, name)
	delete(j.marks, name)
}

// Invalidate marks the record of a database as incomplete, and why.
func (j *Journal) Invalidate(name, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.watched[name]; c != nil {
		c.incomplete(why)
	}
}

// Take reads the log to its end and returns what happened to a database. It clears the record:
// the caller must put the database back, or call Invalidate. The result has everything that the
// server acknowledged before the call.
func (j *Journal) Take(name string) *Changes {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil {
		return &Changes{Incomplete: notWatched}
	}
	j.followed(name)
	j.watched[name] = &Changes{since: j.parts}
	c.Prepared = j.preparedIn(name)
	return c
}

// preparedIn returns the XA transactions that changed a database and wait for their verdict.
func (j *Journal) preparedIn(name string) (list []binlog.XID) {
	for _, g := range j.prepared {
		if g.schemas[name] {
			list = append(list, *g.xid)
		}
	}
	return list
}

// Prepared reads the log to its end and returns the XA transactions that changed a database and
// are neither committed nor rolled back.
func (j *Journal) Prepared(name string) []binlog.XID {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	return j.preparedIn(name)
}

// Logged reads the log to its end and reports whether it has a prepared XA transaction with
// changes of rows, of any database.
func (j *Journal) Logged(x binlog.XID) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	g := j.prepared[x.String()]
	return g != nil && g.rows
}

// Losses returns how many times part of the log could not be read.
func (j *Journal) Losses() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	return j.losses
}

// Return puts back what Take returned, in front of what was recorded since.
func (j *Journal) Return(name string, taken *Changes) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.watched[name]; c != nil {
		taken.follow(c)
		taken.since = c.since
		taken.Prepared = nil // Take finds them again
		j.watched[name] = taken
	}
}

// Events reads the log to its end and returns the number of row events of a database since its
// last Take.
func (j *Journal) Events(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if c := j.watched[name]; c != nil {
		return c.Events
	}
	return 0
}

// RolledBack tells the journal that a session without a log has rolled an XA transaction back.
func (j *Journal) RolledBack(x binlog.XID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.prepared, x.String())
}

// Changed reads the log to its end and returns why a database has changed, or may have, since
// it was first watched; "" if it has not.
func (j *Journal) Changed(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if c := j.watched[name]; c != nil {
		return c.changed()
	}
	return notWatched
}

const notWatched = "it was not watched"

// Read reads the log to its end and returns the position reached: the log may be purged up to
// there. After an error of the log, Read returns the zero Position, and the journal goes on
// with the newest file.
func (j *Journal) Read() binlog.Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	if j.tail == nil {
		return binlog.Position{}
	}
	return j.tail.Pos()
}

// Format returns the log's format description; nil before the first Read.
func (j *Journal) Format() *binlog.Format {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.format
}

// read is Read. An error is one of the log, after which nothing is certain;
// the log is followed again from where it stands. One of a single event costs no more than that.
func (j *Journal) read() {
	for tries := 0; ; tries++ {
		if j.tail == nil {
			if err := j.open(); err != nil {
				j.allIncomplete(err.Error())
				return
			}
		}
		err := j.readTail()
		if err == nil {
			return
		}
		j.allIncomplete(err.Error())
		j.tail.Close()
		j.tail = nil
		if tries > 0 { // it stands in the newest file itself
			return
		}
	}
}

func (j *Journal) readTail() error {
	var e binlog.Event
	for {
		ok, err := j.tail.Next(&e)
		if err != nil || !ok {
			return err
		}
		if err := j.take(&e); err != nil {
			j.allIncomplete(err.Error())
			j.reset()
		}
	}
}

func (j *Journal) allIncomplete(why string) {
	j.losses++
	j.rights.lost()
	for _, c := range j.watched {
		c.incomplete("the binary log does not tell: " + why)
	}
}

// errIncomplete says that a group of events has an end without a beginning.
var errIncomplete = errors.New("a transaction without a beginning")

// take takes in one event.
func (j *Journal) take(e *binlog.Event) error {
	switch {
	case e.Type == binlog.FormatDescriptionEvent:
		j.format = e.Format
		if e.Restarted { // what was not complete never will be
			j.group = group{}
		}
	case e.Type == binlog.TableMapEvent:
		m, err := j.maps.Get(e)
		if err != nil {
			return err
		}
		if j.group.tables == nil {
			j.group.tables = map[uint64]*binlog.TableMap{}
		}
		j.group.tables[m.ID] = m
	case e.Type.Rows() != binlog.NotRows:
		return j.rows(e)
	case e.Type == binlog.XIDEvent:
		j.commit()
	case e.Type == binlog.XAPrepareEvent:
		return j.prepare(e)
	case e.Type == binlog.QueryEvent:
		return j.query(e)
	case !e.Type.Understood() && !e.Skippable():
		j.notUnderstood(e)
	}
	return nil
}

// notUnderstood notes an event that cannot be read with the table that it names, or with every
// database.
func (j *Journal) notUnderstood(e *binlog.Event) {
	id, ok := e.RowsTable()
	m := j.group.tables[id]
	if !ok || m == nil {
		j.allIncomplete("it has an event of the kind " + e.Type.String())
		return
	}
	j.group.part(m.Schema)
	if c := j.watched[m.Schema]; c != nil {
		c.Events++
		c.proven("rows of " + m.Table + " were changed")
		c.refill(m.Table)
	}
}

func (j *Journal) rows(e *binlog.Event) error {
	r, err := binlog.ParseRows(e)
	if err != nil {
		return err
	}
	m := j.group.tables[r.TableID]
	if m == nil {
		return fmt.Errorf("read binary log at %s: %w", e.Pos(), errIncomplete)
	}
	if r.Kind != binlog.Write {
		j.group.part(m.Schema)
	}
	if c := j.watched[m.Schema]; c != nil {
		c.Events++
		j.group.stage(m, r)
	} else {
		j.group.leave(m)
	}
	if strings.EqualFold(m.Schema, accountSchema) {
		j.rights.unknown()
	}
	return nil
}

// commit makes what the current transaction did count.
func (j *Journal) commit() {
	j.count(&j.group)
	j.reset()
}

// reset begins another transaction. Its maps are void.
func (j *Journal) reset() {
	clear(j.group.tables)
	clear(j.group.staged)
	j.group.bytes, j.group.large = 0, nil
	j.group.staged, j.group.undone, j.group.session, j.group.outside = j.group.staged[:0], 0, "", nil
	j.group.parts = nil
}

func (j *Journal) count(g *group) {
	for i, change := range g.staged {
		c := j.watched[change.Map.Schema]
		switch {
		case c == nil:
		case c.Incomplete != "":
			c.moved()
		case i < g.undone:
			c.refill(change.Map.Table)
		case g.large[change.Map.Schema+"."+change.Map.Table]:
			c.proven("rows of " + change.Map.Table + " were changed")
			c.refill(change.Map.Table)
		default:
			c.add(change)
		}
	}
	j.warnOutside(g)
	j.noteParts(g)
}

// prepare puts an XA transaction aside until it has its verdict.
func (j *Journal) prepare(e *binlog.Event) error {
	x, err := binlog.ParseXAPrepare(e)
	if err != nil {
		return err
	}
	if x.OnePhase {
		j.commit()
		return nil
	}
	schemas := map[string]bool{}
	for _, m := range j.group.tables {
		schemas[m.Schema] = true
	}
	// One of the same name had its verdict unseen.
	j.prepared[x.XID.String()] = &group{staged: slices.Clone(j.group.staged), bytes: j.group.bytes, large: j.group.large, undone: j.group.undone, session: j.group.session, outside: j.group.outside, parts: j.group.parts, xid: &x.XID, rows: len(j.group.tables) > 0, schemas: schemas}
	j.reset()
	return nil
}
