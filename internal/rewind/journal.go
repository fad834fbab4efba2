package rewind

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Journal follows the binary log of a server, by plain reads of its files, and keeps what
// happened to each database that is watched. It never guesses: where it cannot be sure to
// know all, what it knows of every database is marked so. It may be used by several
// goroutines.
type Journal struct {
	dir, base string

	mu      sync.Mutex
	tail    *binlog.Tail
	maps    binlog.Maps
	format  *binlog.Format
	watched map[string]*Changes
	group   group
	// prepared are the XA transactions that wait for their verdict.
	prepared map[string]*group
}

// group is a transaction that is being read.
type group struct {
	tables map[uint64]*binlog.TableMap
	// staged are its changes of watched databases.
	staged []binlog.Change
	// doubtful is how many of these a ROLLBACK TO may have undone.
	doubtful int
	// xid is the name of an XA transaction.
	xid *binlog.XID
}

// OpenJournal follows the log of the given base name in dir, from its newest file on.
func OpenJournal(dir, base string) (*Journal, error) {
	j := &Journal{dir: dir, base: base, watched: map[string]*Changes{}, prepared: map[string]*group{}}
	if err := j.open(); err != nil {
		return nil, err
	}
	return j, nil
}

// open goes to the beginning of the newest file. What stands there is read again by the
// next Read; whoever is watched must be marked.
func (j *Journal) open() error {
	files, err := filepath.Glob(filepath.Join(server.GlobEscape(j.dir), server.GlobEscape(j.base)+".[0-9]*"))
	if err != nil {
		return fmt.Errorf("find binary logs: %w", err)
	}
	files = slices.DeleteFunc(files, func(path string) bool { return strings.Trim(filepath.Ext(path), ".0123456789") != "" })
	if len(files) == 0 {
		return fmt.Errorf("find binary logs: there is none in %s", j.dir)
	}
	slices.SortFunc(files, func(a, b string) int { // .999999 comes before .1000000
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	tail, err := binlog.OpenTail(j.dir, binlog.Position{File: filepath.Base(files[len(files)-1])})
	if err != nil {
		return err
	}
	j.tail, j.maps, j.group, j.prepared = tail, binlog.Maps{}, group{}, map[string]*group{}
	return nil
}

// Close lets the files go.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tail != nil {
		j.tail.Close()
		j.tail = nil
	}
}

// Watch begins to keep what happens to a database from now on. What is not read yet
// counts.
func (j *Journal) Watch(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watched[name] = &Changes{}
}

// Forget ends it.
func (j *Journal) Forget(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.watched, name)
}

// Doubt marks a database: what is known of it is worthless.
func (j *Journal) Doubt(name, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.watched[name]; c != nil {
		c.unsure(why)
	}
}

// Take reads the log to its end and returns what happened to a database, and forgets it:
// the caller puts it back, or says Doubt. It is complete for all that was acknowledged
// before.
func (j *Journal) Take(name string) *Changes {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	c := j.watched[name]
	if c == nil {
		return &Changes{Unsure: "it was not watched"}
	}
	j.watched[name] = &Changes{}
	for _, g := range j.prepared {
		if slices.ContainsFunc(g.staged, func(ch binlog.Change) bool { return ch.Map.Schema == name }) {
			c.Prepared = append(c.Prepared, *g.xid)
		}
	}
	return c
}

// RolledBack says that an XA transaction was rolled back by a session that is not logged.
func (j *Journal) RolledBack(x binlog.XID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.prepared, x.String())
}

// Changed reports, after reading the log to its end, why a database is no longer what it
// was when it was first watched; "" if it is.
func (j *Journal) Changed(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
	switch c := j.watched[name]; {
	case c == nil:
		return "it was not watched"
	case c.Unsure != "":
		return c.Unsure
	case c.Statements:
		return "its shape was changed, or may have been"
	case len(c.Tables) > 0:
		return "rows of it were changed"
	}
	return ""
}

// Read takes in what the log has, so that it may be purged up to there.
func (j *Journal) Read() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read()
}

// Format returns the log's format description, nil before the first Read.
func (j *Journal) Format() *binlog.Format {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.format
}

// read is Read. An error is one of the log, after which nobody can be sure of anything;
// the log is followed anew from where it stands.
func (j *Journal) read() {
	for tries := 0; ; tries++ {
		if j.tail == nil {
			if err := j.open(); err != nil {
				j.allUnsure(err.Error())
				return
			}
		}
		err := j.readTail()
		if err == nil {
			return
		}
		j.allUnsure(err.Error())
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
			return err
		}
	}
}

func (j *Journal) allUnsure(why string) {
	for _, c := range j.watched {
		c.unsure("the binary log does not tell: " + why)
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
	case !e.Type.Understood():
		j.allUnsure("it has an event of the kind " + e.Type.String())
	}
	return nil
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
	if j.watched[m.Schema] != nil {
		j.group.staged = append(j.group.staged, binlog.Change{Map: m, Rows: r.Clone()})
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
	j.group.staged, j.group.doubtful = j.group.staged[:0], 0
}

func (j *Journal) count(g *group) {
	for i, change := range g.staged {
		c := j.watched[change.Map.Schema]
		switch {
		case c == nil || c.Unsure != "":
		case i < g.doubtful:
			c.doubt(change.Map.Table)
		default:
			c.add(change)
		}
	}
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
	delete(j.prepared, x.XID.String()) // one of the same name had its verdict unseen
	if len(j.group.staged) > 0 {
		j.prepared[x.XID.String()] = &group{staged: slices.Clone(j.group.staged), doubtful: j.group.doubtful, xid: &x.XID}
	}
	j.reset()
	return nil
}

// query takes in a statement that was logged as text.
func (j *Journal) query(e *binlog.Event) error {
	q, err := binlog.ParseQuery(e)
	if err != nil {
		return err
	}
	sql := string(q.SQL)
	kind := effectOf(sql)
	switch kind {
	case begin:
		j.reset()
	case commit:
		j.commit()
	case rollback:
		// It is only written where a table that knows no transactions was changed as well.
		j.group.doubtful = len(j.group.staged)
		j.commit()
	case rollbackTo:
		j.group.doubtful = len(j.group.staged)
	case savepoint, xaOther, harmless:
	case xaCommit, xaRollback:
		j.verdict(sql, kind)
	default:
		j.statement(q, sql, kind)
	}
	return nil
}

// verdict ends an XA transaction that was prepared.
func (j *Journal) verdict(sql string, kind effect) {
	// "XA COMMIT X'61',X'',1", as the server writes it whatever it was given.
	_, id, _ := strings.Cut(strings.TrimSpace(sql)[len("XA "):], " ")
	id = strings.ReplaceAll(id, " ", "")
	if kind == xaRollback {
		id = strings.TrimSpace(id)
	}
	if g := j.prepared[id]; g != nil && kind == xaCommit {
		j.count(g)
	}
	delete(j.prepared, id)
	j.reset()
}

// statement notes a statement with every watched database that it may be about: that of
// its session, those that the server names, and those whose names stand in it before a
// dot. A table may well be called as a database is. Where the server names none (MariaDB),
// or says that they are too many (MySQL, of every CREATE TABLE ... SELECT), the text tells.
func (j *Journal) statement(q binlog.Query, sql string, kind effect) {
	if len(j.group.staged) > 0 { // it cannot stand in a transaction; should it, that counts
		j.group.doubtful = len(j.group.staged)
		j.commit()
	}
	foreign := !isASCII(sql) && !speaksUTF8(q.CharsetClient)
	mentioned, qualifies := map[string]bool{}, map[string]bool{}
	for _, n := range names(sql) {
		mentioned[n.text] = true
		if n.qualifies || kind == database || kind == unknown || kind == wide || altersDatabase(sql) {
			qualifies[n.text] = true
		}
	}
	for name, c := range j.watched {
		own := q.Schema == name
		named := slices.Contains(q.Updated, name) || qualifies[strings.ToLower(name)] || foreign && !isASCII(name)
		if kind == wide {
			if own || named {
				c.warn("it reaches beyond the database and stays: " + firstWords(sql, 2))
			}
			continue
		}
		if !own && !named {
			continue
		}
		switch {
		case foreign && kind == structural:
			c.unsure("a statement in another character set than UTF-8: " + firstWords(sql, 2))
		case kind == structural:
			c.touch(mentioned)
		case kind == database:
			if named { // others are made and removed from anywhere
				c.unsure("the whole database was made or removed: " + firstWords(sql, 2))
			}
		default:
			c.unsure("a statement that is not understood: " + firstWords(sql, 2))
		}
	}
	j.reset()
}
