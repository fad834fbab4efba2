package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// An applier looks for the row that an event changes by a key. In a table without one MariaDB reads the table from its
// beginning for each row, and MySQL for each event. So a table without any unique key gets an index for as long as the log
// changes many of its rows: the applier takes what index it finds. It is dropped before any statement that could see it.

// spot is a place in the relay log between two groups: an offset in one of its parts.
type spot struct {
	part int
	pos  int64
}

func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(s.part, o.part), cmp.Compare(s.pos, o.pos))
}

// Table names a table.
type Table struct{ Schema, Name string }

// String returns the name as statements take it.
func (t Table) String() string { return dbconn.QuoteName(t.Schema) + "." + dbconn.QuoteName(t.Name) }

// stretch is a part of the log that changes rows of a table, and has no statement that could alter it.
type stretch struct {
	table    Table
	from, to spot
	// added and changed are bytes of events that add rows, and that update or delete some.
	added, changed int64
	// first says that no statement before it could have altered the table.
	first bool
}

// leastChanged is for how many bytes of changed rows a table is looked at: what is less is done soon by any search.
const leastChanged = 4 << 10

// stretches finds them in the log, group by group.
type stretches struct {
	open map[Table]*stretch
	list []stretch
	// words are those of statements, each of which may be a table that it made or altered; all, that it may be any.
	words map[string]bool
	all   bool
	// barred are tables of which a transaction was prepared: it may keep statements from them up to the end.
	barred map[Table]bool
	// added are bytes of events that add rows, all that there are of a table.
	added map[Table]int64
}

// group takes the next group, which begins at a spot.
func (s *stretches) group(at spot, t *binlog.Touched) {
	if t.Unread {
		s.closeAll(at)
	}
	for _, text := range t.Texts {
		s.statement(at, text)
	}
	for _, c := range t.Tables {
		of := Table{c.Schema, c.Table}
		if t.Prepared {
			s.close(of, at)
			if s.barred == nil {
				s.barred = map[Table]bool{}
			}
			s.barred[of] = true
		}
		if s.barred[of] {
			continue
		}
		x := s.open[of]
		if x == nil {
			if s.open == nil {
				s.open = map[Table]*stretch{}
			}
			x = &stretch{table: of, from: at, first: !s.named(of)}
			s.open[of] = x
		}
		x.added, x.changed = x.added+c.Added, x.changed+c.Changed
		if s.added == nil {
			s.added = map[Table]int64{}
		}
		s.added[of] += c.Added
	}
}

// anyTable are words of statements that may be about tables which they do not name.
var anyTable = [][]byte{[]byte("database"), []byte("schema")}

// statement ends the stretches of tables that a statement may be about: of those that it names.
func (s *stretches) statement(at spot, text []byte) {
	text = bytes.ToLower(text)
	if slices.ContainsFunc(anyTable, func(word []byte) bool { return bytes.Contains(text, word) }) {
		s.closeAll(at)
		return
	}
	for of := range s.open {
		if binlog.MayName(text, of.Name) {
			s.close(of, at)
		}
	}
	if s.words == nil {
		s.words = map[string]bool{}
	}
	for _, word := range bytes.FieldsFunc(text, notOfWord) {
		s.words[string(word)] = true
	}
	s.all = s.all || len(s.words) > mostWords
}

// mostWords bounds how many words are remembered.
const mostWords = 1 << 18

func notOfWord(r rune) bool { return r >= 0x80 || !binlog.WordByte(byte(r)) }

// named reports whether a statement may have made or altered a table.
func (s *stretches) named(t Table) bool {
	name := strings.ToLower(t.Name)
	return s.all || s.words[name] || len(s.words) > 0 && strings.ContainsFunc(name, notOfWord)
}

func (s *stretches) close(of Table, at spot) {
	x := s.open[of]
	if x == nil {
		return
	}
	delete(s.open, of)
	if x.to = at; x.changed >= leastChanged {
		s.list = append(s.list, *x)
	}
}

func (s *stretches) closeAll(at spot) {
	s.all = true
	for of := range s.open {
		s.close(of, at)
	}
}

// end gives out what there is, in the order in which it begins; the log ends at a spot.
func (s *stretches) end(at spot) []stretch {
	s.closeAll(at)
	slices.SortFunc(s.list, func(a, b stretch) int {
		return cmp.Or(a.from.compare(b.from), strings.Compare(a.table.String(), b.table.String()))
	})
	return s.list
}

// end is where the relay log ends.
func (p *plan) end() spot { return p.partEnd(len(p.parts) - 1) }

// applyAll has the applier apply all of the relay log, and gives tables an index while it needs one.
func (s *session) applyAll(ctx context.Context) error {
	list, err := s.searched(ctx)
	if err != nil {
		return err
	}
	var indexed []stretch // those whose tables have an index, by where they end
	for at, end := (spot{0, 0}), s.plan.end(); at != end; {
		next := end
		if len(indexed) > 0 {
			next = indexed[0].to
		}
		if len(list) > 0 && list[0].from.compare(next) < 0 {
			next = list[0].from
		}
		if next != end {
			s.stops++
		}
		if err := s.applyTo(ctx, at, next); err != nil {
			return err
		}
		for at = next; len(indexed) > 0 && indexed[0].to == at; indexed = indexed[1:] {
			if err := s.dropIndex(ctx, indexed[0].table); err != nil {
				return err
			}
		}
		for ; len(list) > 0 && list[0].from == at; list = list[1:] {
			if made, err := s.addIndex(ctx, list[0]); err != nil {
				return err
			} else if made {
				indexed = append(indexed, list[0])
				s.given = append(s.given, list[0].table)
			}
		}
		slices.SortStableFunc(indexed, func(a, b stretch) int { return a.to.compare(b.to) })
	}
	return nil
}

// applyTo has the applier go on from one spot to another.
func (s *session) applyTo(ctx context.Context, from, to spot) error {
	if to.pos <= s.plan.parts[to.part].Places[0].Written {
		if to.part == 0 {
			return nil
		}
		to = s.plan.partEnd(to.part - 1)
	}
	if to.compare(from) <= 0 {
		return nil
	}
	s.until = to
	if err := s.startApplier(ctx); err != nil {
		return err
	}
	return s.wait(ctx)
}

// startApplier has the applier go on from where it is, up to where it is to stop.
func (s *session) startApplier(ctx context.Context) error {
	return s.exec(ctx, s.Server.Dialect().StartApplier(s.relayName(s.until.part), s.until.pos))
}

// partEnd is where a part ends.
func (p *plan) partEnd(i int) spot { return spot{i, p.parts[i].Written} }

// mostVisits is how many rows an applier may read in vain before an index is worth its while.
const mostVisits = 1_000_000

// rowSize is how many bytes of the log a row is taken for, so as to be too many rather than too few.
const rowSize = 32

// searched are the stretches whose tables lack a key. Of those that a statement of the log may make or alter that is seen
// when the applier is there.
func (s *session) searched(ctx context.Context) (list []stretch, err error) {
	if s.Server.Flavour != server.MariaDB || s.Plain {
		return nil, nil // an applier with several threads that was stopped may not start again: error 1201
	}
	for _, x := range s.plan.stretches.end(s.plan.end()) {
		worth, err := s.worthAStop(ctx, x)
		if err != nil {
			return nil, err
		}
		if worth {
			list = append(list, x)
		}
	}
	if len(list) > mostStretches {
		slices.SortFunc(list, func(a, b stretch) int { return cmp.Compare(b.changed, a.changed) })
		list = list[:mostStretches]
		slices.SortFunc(list, func(a, b stretch) int { return a.from.compare(b.from) })
	}
	return list, nil
}

// worthAStop reports whether the applier is to be stopped for a stretch. What a statement of the log may make or alter may
// get a key there, so that many more visits must be at stake.
func (s *session) worthAStop(ctx context.Context, x stretch) (bool, error) {
	if x.first {
		return s.keyless(ctx, x)
	}
	const mostInVain = 4
	added := s.plan.stretches.added[x.table] / rowSize
	least := mostInVain*mostVisits/(x.changed/rowSize) - added
	if least <= 0 {
		return true, nil
	}
	is, err := dbconn.IsInnoDB(ctx, s.db, x.table.Schema, x.table.Name)
	switch {
	case err != nil:
		return false, err
	case is:
		return s.hasRows(ctx, x.table, least)
	}
	// One that the log makes, or renames: of that nobody knows how many rows it has.
	return added == 0 && x.changed >= unknownChanged, nil
}

// unknownChanged is how many bytes of changed rows make an index worth its while where the size of a table is not known.
const unknownChanged = 64 << 10

// mostStretches is for how many stretches the applier is stopped, twice each: for those that change the most.
const mostStretches = 100

// keyless reports whether a table has no unique key, and enough rows that an index is worth its while. MariaDB takes the
// first row that any index gives where the first key of the table is unique and the row has no NULL in it.
func (s *session) keyless(ctx context.Context, x stretch) (bool, error) {
	if is, err := dbconn.Keyless(ctx, s.db, x.table.Schema, x.table.Name); err != nil || !is {
		return false, err
	}
	return s.hasRows(ctx, x.table, mostVisits/(x.changed/rowSize)-x.added/rowSize)
}

// hasRows reports whether a table has so many rows at least.
func (s *session) hasRows(ctx context.Context, t Table, least int64) (bool, error) {
	if least <= 0 {
		return true, nil
	}
	var n int64
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+t.String()+" LIMIT "+strconv.FormatInt(least, 10)+") AS some").Scan(&n)
	if err != nil {
		return false, fmt.Errorf("count rows of table %s: %w", t, err)
	}
	return n >= least, nil
}

// addIndex gives a table an index if it lacks a key, and reports whether it did. A table that cannot have one is searched
// without.
func (s *session) addIndex(ctx context.Context, x stretch) (bool, error) {
	if keyless, err := s.keyless(ctx, x); err != nil || !keyless {
		return false, err
	}
	columns, err := s.indexColumns(ctx, x.table)
	if err != nil || len(columns) == 0 {
		return false, err
	}
	err = s.alter(ctx, x.table, "ADD INDEX "+s.indexName()+" ("+strings.Join(columns, ", ")+")", addWait)
	if dbconn.Refused(err) {
		return false, nil
	}
	return err == nil, err
}

// dropIndex drops the index of a table that got one.
func (s *session) dropIndex(ctx context.Context, t Table) error {
	err := s.alter(ctx, t, "DROP INDEX "+s.indexName(), dropWait)
	if dbconn.NoIndex(err) {
		return nil // the table is another one now: CREATE OR REPLACE ... SELECT
	}
	if err != nil {
		return fmt.Errorf("drop the index that the replay made: %w", err)
	}
	return nil
}

// An index is not waited for where a transaction that was prepared before the log begins has the table. One that is dropped
// is: on a busy machine the applier lets go of the table late.
const addWait, dropWait = time.Second, time.Minute

// alter alters a table without making it anew: a row keeps its place and form.
func (s *session) alter(ctx context.Context, t Table, change string, wait time.Duration) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", int(wait.Seconds()))); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ALTER TABLE "+t.String()+" "+change+", ALGORITHM=NOCOPY")
	return err
}

// indexName is a name that no index has.
func (s *session) indexName() string { return s.admin.User }

const (
	// mostKey is how many bytes an index may have a row, which every page size and row format allows.
	mostKey = 700
	// mostPrefix is how many bytes of a text are in it, and mostParts how many columns.
	mostPrefix, mostParts = 160, 16
)

// widths are the most bytes that a value takes in an index, of types that are there as a whole. Types that are missing, and
// are no texts, are left out: equal values of them need not be equal bytes, or they cannot be in an index.
var widths = map[string]int{
	"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8, "decimal": 30, "year": 1, "date": 3, "time": 6, "datetime": 8, "timestamp": 7,
	"enum": 2, "set": 8, "inet4": 4, "inet6": 16, "uuid": 16,
}

// indexColumns are what an index of a table is to have, as ADD INDEX takes it: as many columns as fit, since what any of them
// tells apart the applier need not compare.
func (s *session) indexColumns(ctx context.Context, t Table) (list []string, err error) {
	left := mostKey
	rows, err := s.db.QueryContext(ctx, `SELECT column_name, LOWER(data_type), COALESCE(character_maximum_length, 0), COALESCE(character_octet_length, 0)
		FROM information_schema.columns WHERE table_schema = ? AND table_name = ? AND COALESCE(generation_expression, '') = '' ORDER BY ordinal_position`, t.Schema, t.Name)
	if err != nil {
		return nil, fmt.Errorf("look for the columns of table %s: %w", t, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		var length, octets uint64
		if err := rows.Scan(&name, &kind, &length, &octets); err != nil {
			return nil, err
		}
		part, width := indexPart(name, kind, length, octets)
		if width == 0 || width > left || len(list) == mostParts {
			continue
		}
		list, left = append(list, part), left-width
	}
	return list, rows.Err()
}

// nullWidth is what NULL and a length take beside a value.
const nullWidth = 3

// indexPart is how a column is named in an index, and how many bytes it takes there; 0 if it cannot be in one.
func indexPart(name, kind string, length, octets uint64) (part string, width int) {
	part = dbconn.QuoteName(name)
	if w := widths[kind]; w > 0 {
		return part, w + nullWidth
	}
	text := strings.HasSuffix(kind, "char") || strings.HasSuffix(kind, "binary")
	long := strings.HasSuffix(kind, "text") || strings.HasSuffix(kind, "blob")
	if !text && !long || length == 0 {
		return "", 0
	}
	each := uint64(4) // bytes a character
	if text && octets >= length {
		each = octets / length
	}
	if most := mostPrefix / each; long || length > most {
		length = min(length, most)
		part += "(" + strconv.FormatUint(length, 10) + ")"
	}
	return part, int(length*each) + nullWidth
}
