package durable

import (
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestMeter: what a server logged is counted as transactions, rows and statements; a table without a key costs more once
// that is known, so that a base is due; a statement about the table makes that unknown again; and a base has what came
// before it was begun.
func TestMeter(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		const rows = 20_000
		srv, db := startLogged(t, want)
		for _, s := range []string{"CREATE DATABASE d", "USE d", "CREATE TABLE k (a INT, b INT) ENGINE=InnoDB", "INSERT INTO k VALUES (1, 1)"} {
			exec(t, db, s)
		}
		for n := 1; n < rows; n *= 2 {
			exec(t, db, "INSERT INTO k SELECT a + "+strconv.Itoa(n)+", b FROM k LIMIT "+strconv.Itoa(min(n, rows-n)))
		}
		exec(t, db, "UPDATE k SET b = b + 1")
		if is, err := dbconn.Keyless(t.Context(), db, "d", "k"); err != nil || !is {
			t.Fatal(is, err)
		}
		costs := srv.Server.Family().ReplayCosts()
		m := read(t, db, srv.DataDir(), costs)
		s := m.since
		if about := float64(s.rows) / (2 * rows); s.statements < 2 || s.groups < 17 || about < 0.9 || about > 1.1 {
			t.Errorf("%d statements, %d groups, %d rows", s.statements, s.groups, s.rows)
		}
		of := repeatable.Table{Schema: "d", Name: "k"}
		if u := m.unknown(); len(u) != 1 || u[0] != of {
			t.Errorf("unknown: %v", u)
		}
		before := m.work()
		m.know(of, true)
		extra := (m.work() - before).Seconds() / (rows * costs.Searched).Seconds()
		if len(m.unknown()) != 0 || extra < 0.9 || extra > 1.1 {
			t.Errorf("a table without a key costs %.2f of what it is to", extra)
		}
		m.carried = 150 * rows * costs.Searched // as if there had been more of that
		if p := (Policy{}); !p.Due(&archive.Manifest{}, archive.Base{}, m.work(), 0) || p.Due(&archive.Manifest{}, archive.Base{}, before, 0) {
			t.Errorf("a base is due with %v, or not with %v", before, m.work())
		}
		m.statement([]byte("ALTER TABLE k ADD PRIMARY KEY (a)"))
		if len(m.unknown()) != 1 {
			t.Error("it is known what a statement may have changed")
		}
		m.begin()
		m.statement([]byte("CREATE TABLE x (a INT)"))
		if m.based(); m.work() != costs.Statement {
			t.Errorf("behind a base there is %v", m.work())
		}
	})
}

// read has a meter read the log of a server.
func read(t *testing.T, db *sql.DB, dir string, costs server.ReplayCosts) *meter {
	t.Helper()
	exec(t, db, "FLUSH BINARY LOGS")
	m := &meter{costs: costs}
	for n := uint32(1); ; n++ {
		path := filepath.Join(dir, serverLog(n))
		fi, err := os.Stat(path)
		if err != nil {
			return m
		}
		if err := eachEvent(path, 4, fi.Size(), func(e *binlog.Event) error { m.take(e); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMeterOfLargeRows: a log of few large rows costs by its bytes.
func TestMeterOfLargeRows(t *testing.T) {
	m := &meter{costs: server.ReplayCosts{Row: time.Microsecond, Rate: 1 << 20}}
	m.event(&binlog.Event{Type: binlog.WriteRowsV1, Length: 100 << 20})
	if m.work() < 100*time.Second || m.since.rows != 1 {
		t.Errorf("%v for %d rows", m.work(), m.since.rows)
	}
}
