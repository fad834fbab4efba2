package binlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// live is a running server with one session on it.
type live struct {
	*servertest.Running
	t       testing.TB
	db      *sql.DB
	conn    *sql.Conn
	flavour Flavour
	dir     string
}

func startReal(t testing.TB, want string) *live {
	t.Helper()
	r := &live{Running: servertest.Start(t, servertest.Find(t, want)), t: t}
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r.db = db
	r.conn = r.session()
	if r.Flavour == server.MariaDB {
		r.flavour = MariaDB
	}
	r.dir = filepath.Dir(r.value("SELECT @@log_bin_basename"))
	r.exec("CREATE DATABASE d")
	r.exec("USE d")
	return r
}

func (r *live) session() *sql.Conn {
	r.t.Helper()
	c, err := r.db.Conn(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

func (r *live) exec(statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		r.execOn(r.conn, s)
	}
}

func (r *live) execOn(c *sql.Conn, s string) {
	r.t.Helper()
	if _, err := c.ExecContext(context.Background(), s); err != nil {
		r.t.Fatalf("%.300s: %v", s, err)
	}
}

func (r *live) value(query string) string {
	r.t.Helper()
	return r.rows(query)[0][0]
}

// rows returns what a query answers, as the server writes it; NULL is "\x00NULL".
func (r *live) rows(query string) [][]string {
	r.t.Helper()
	rows, err := r.conn.QueryContext(context.Background(), query)
	if err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		r.t.Fatal(err)
	}
	var all [][]string
	for rows.Next() {
		raw, to := make([]sql.RawBytes, len(names)), make([]any, len(names))
		for i := range raw {
			to[i] = &raw[i]
		}
		if err := rows.Scan(to...); err != nil {
			r.t.Fatal(err)
		}
		line := make([]string, len(names))
		for i, b := range raw {
			if line[i] = string(b); b == nil {
				line[i] = "\x00NULL"
			}
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// pos asks the server where its log ends.
func (r *live) pos() Position {
	r.t.Helper()
	query := "SHOW MASTER STATUS"
	if r.flavour == MySQL {
		query = "SHOW BINARY LOG STATUS"
	}
	line := r.rows(query)[0]
	var p Position
	p.File = line[0]
	if _, err := fmt.Sscan(line[1], &p.Offset); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// events are the kinds of what the log has from a position on, but for what the server
// writes by itself, at any time.
func (r *live) events(from Position) (types []EventType) {
	r.t.Helper()
	tail, err := OpenTail(r.dir, from)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tail.Close()
	for {
		var e Event
		ok, err := tail.Next(&e)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return types
		}
		if e.Type != BinlogCheckpointEvent {
			types = append(types, e.Type)
		}
	}
}

// state is everything in the given tables: rows in any order, and the server's checksum.
func (r *live) state(tables []string) map[string][]string {
	r.t.Helper()
	state := map[string][]string{}
	for _, table := range tables {
		var lines []string
		for _, row := range r.rows("SELECT * FROM " + table) {
			lines = append(lines, fmt.Sprintf("%x", strings.Join(row, "\x01")))
		}
		slices.Sort(lines)
		state[table] = append(lines, "checksum "+r.rows("CHECKSUM TABLE " + table)[0][1])
	}
	return state
}

// changes reads the rows events from one position on, up to what is in the log now.
func (r *live) changes(from Position) ([]Change, *Format) {
	r.t.Helper()
	tail, err := OpenTail(r.dir, from)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tail.Close()
	var maps Maps
	var changes []Change
	var format *Format
	tables := map[uint64]*TableMap{}
	for {
		var e Event
		ok, err := tail.Next(&e)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			r.atEnd(tail)
			return changes, format
		}
		format = e.Format
		if !e.Type.Understood() {
			r.t.Fatalf("not understood: %s", e.Type)
		}
		switch {
		case e.Type == TableMapEvent:
			m, err := maps.Get(&e)
			if err != nil {
				r.t.Fatal(err)
			}
			tables[m.ID] = m
		case e.Type.Rows() != NotRows:
			rows, err := ParseRows(&e)
			if err != nil {
				r.t.Fatal(err)
			}
			changes = append(changes, Change{tables[rows.TableID], rows.Clone()})
		case e.Type == QueryEvent:
			q, err := ParseQuery(&e)
			if err != nil {
				r.t.Fatal(err)
			}
			if q.Partial {
				r.t.Errorf("status variables of %q are not all known", q.SQL)
			}
		}
	}
}

// atEnd fails unless what was read is all that the log has, but for checkpoints: those the
// server writes when its engines are done with a log that was rotated away, at any time.
func (r *live) atEnd(tail *Tail) {
	r.t.Helper()
	for tries := 0; tail.Pos() != r.pos(); tries++ {
		kinds, err := drain(tail)
		other := slices.ContainsFunc(kinds, func(k string) bool { return k != BinlogCheckpointEvent.String() })
		if err != nil || other || tries == 10 {
			r.t.Fatalf("at %s, the log ends at %s; on the way %v, %v", tail.Pos(), r.pos(), kinds, err)
		}
	}
}

// undoer is a session that applies inversions.
func (r *live) undoer(f *Format) *sql.Conn {
	r.t.Helper()
	c := r.session()
	r.execOn(c, "SET SESSION sql_log_bin=0")
	r.execOn(c, "BINLOG '"+string(f.Base64())+"'")
	if r.flavour == MySQL {
		r.execOn(c, "SET gtid_next='AUTOMATIC'")
	}
	return c
}

func (r *live) apply(c *sql.Conn, inv *Inversion) error {
	ctx := context.Background()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, s := range inv.Statements {
		if _, err := c.ExecContext(ctx, "BINLOG '"+string(s)+"'"); err != nil {
			_, undo := c.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, undo)
		}
	}
	_, err := c.ExecContext(ctx, "COMMIT")
	return err
}

// keys asks for the primary keys of all tables.
func (r *live) keys() func(*TableMap) []int {
	r.t.Helper()
	list := map[string][]int{}
	for _, row := range r.rows("SELECT table_name, ordinal_position FROM information_schema.columns WHERE table_schema = DATABASE() AND column_key = 'PRI'") {
		n, err := strconv.Atoi(row[1])
		if err != nil {
			r.t.Fatal(err)
		}
		list[row[0]] = append(list[row[0]], n-1)
	}
	if len(list) == 0 {
		r.t.Fatal("no table has a primary key")
	}
	return func(m *TableMap) []int { return list[m.Table] }
}

// TestUndo changes tables of every type and shape, undoes it from the log, and finds
// everything as it was.
func TestUndo(t *testing.T) { servertest.Each(t, testUndo) }

func testUndo(t *testing.T, want string) {
	r := startReal(t, want)
	tables := r.makeTables()
	for _, checksum := range []string{"NONE", "CRC32"} {
		r.exec("SET GLOBAL binlog_checksum="+checksum, "FLUSH BINARY LOGS")
		for _, o := range []InvertOptions{{}, {EventBytes: 1}, {MaxBytes: 900_000}, {Key: r.keys()}} {
			o.Flavour, o.ServerID = r.flavour, 77
			t.Run(fmt.Sprintf("%s %d %d by key %t", checksum, o.EventBytes, o.MaxBytes, o.Key != nil), func(t *testing.T) {
				r.t = t
				before, from := r.state(tables), r.pos()
				r.change()
				changes, format := r.changes(from)
				if want := checksum == "CRC32"; format.Checksum != want {
					t.Errorf("checksums: %t, want %t", format.Checksum, want)
				}
				changed := r.state(tables)
				undo := r.undoer(format)
				// The control: without one of the changes the state must not be the same.
				if cmp.Equal(before, changed) {
					t.Error("nothing was changed")
				}
				inv, err := Invert(changes[1:], o)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.apply(undo, inv); err == nil && cmp.Equal(before, r.state(tables)) {
					t.Error("the state is the same although a change was left out")
				} else if err == nil {
					rest, err := Invert(changes[:1], o)
					if err != nil {
						t.Fatal(err)
					}
					inv = rest
				} else if inv, err = Invert(changes, o); err != nil {
					t.Fatal(err)
				}
				if want := o.MaxBytes > 0; len(inv.Statements) > 1 != want && len(inv.Tables) > 1 {
					t.Errorf("%d statements", len(inv.Statements))
				}
				end := r.pos()
				if err := r.apply(undo, inv); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, r.state(tables)); diff != "" {
					t.Errorf("state (-before +after):\n%.3000s", diff)
				}
				if types := r.events(end); len(types) > 0 {
					t.Errorf("the log went on from %s: %v", end, types)
				}
			})
		}
	}
	r.t = t
}
