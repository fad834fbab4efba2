package ramariatest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// shop is a template that the function shopTables fills.
func shop(t *testing.T) Option {
	t.Helper()
	needServer(t)
	return Template("shop", Build("1", shopTables))
}

func shopTables(ctx context.Context, db *sql.DB) error {
	text, err := os.ReadFile("testdata/shop.sql")
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(strings.TrimSpace(string(text)), ";\n") {
		if _, err := db.ExecContext(ctx, strings.TrimSuffix(statement, ";")); err != nil {
			return err
		}
	}
	return nil
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func exe(t *testing.T, db execer, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func ask[T any](t *testing.T, db queryer, query string) (value T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// TestNew hands one database from test to test, as new.
func TestNew(t *testing.T) {
	template := shop(t)
	var names []string
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			db := New(t, template, TTL(time.Hour))
			if n := ask[int](t, db, "SELECT COUNT(*) FROM orders"); n != 3 {
				t.Errorf("%d rows", n)
			}
			r, err := db.ExecContext(t.Context(), "INSERT INTO orders (item) VALUES (?)", "a bed")
			if err != nil {
				t.Fatal(err)
			}
			if id, err := r.LastInsertId(); id != 4 || err != nil {
				t.Errorf("id %d, %v", id, err)
			}
			exe(t, db, "CREATE TABLE more (a INT)")
			exe(t, db, "SET @seen = 1")
			names = append(names, ask[string](t, db, "SELECT DATABASE()"))
		})
	}
	if names[1] != names[0] || names[2] != names[0] {
		t.Errorf("a database costs a lease each time: %v", names)
	}
}

// TestParallel lets many tests change the same row at once.
func TestParallel(t *testing.T) {
	template := shop(t)
	var at, most atomic.Int32
	for i := range 24 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			db := New(t, template)
			if item := ask[string](t, db, "SELECT item FROM orders WHERE id = 1"); item != "a lamp" {
				t.Errorf("found what another wrote: %s", item)
			}
			exe(t, db, fmt.Sprintf("UPDATE orders SET item = 'mine %d' WHERE id = 1", i))
			time.Sleep(time.Millisecond)
			if item := ask[string](t, db, "SELECT item FROM orders WHERE id = 1"); item != fmt.Sprint("mine ", i) {
				t.Errorf("another wrote here: %s", item)
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d at once", most.Load()) })
}

// TestReset rolls back what is open, and keeps the connections.
func TestReset(t *testing.T) {
	t.Parallel()
	d := NewDatabase(t, shop(t), Params("parseTime=true"))
	ctx := t.Context()
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	txID := ask[int](t, tx, "SELECT CONNECTION_ID()")
	exe(t, tx, "DELETE FROM orders WHERE id = 2")
	raw, err := d.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	rawID := ask[int](t, raw, "SELECT CONNECTION_ID()")
	exe(t, raw, "BEGIN")
	exe(t, raw, "INSERT INTO orders (item) VALUES ('a bed')")
	exe(t, d.DB, "INSERT INTO orders (item) VALUES ('a desk')")
	reading, err := d.DB.QueryContext(ctx, "SELECT a.id FROM orders a JOIN orders b")
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()

	d.Reset()

	if n := ask[int](t, d.DB, "SELECT COUNT(*) FROM orders"); n != 3 {
		t.Errorf("%d rows after the reset", n)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM orders"); !errors.Is(err, ErrReset) || !strings.Contains(err.Error(), "rolled this transaction back at a reset") {
		t.Errorf("the transaction goes on: %v", err)
	}
	if err := tx.Commit(); !errors.Is(err, ErrReset) {
		t.Errorf("the transaction commits: %v", err)
	}
	if n := ask[int](t, raw, "SELECT COUNT(*) FROM orders"); n != 3 || ask[int](t, raw, "SELECT CONNECTION_ID()") != rawID {
		t.Errorf("a connection with a transaction was lost, or sees it still: %d rows", n)
	}
	for reading.Next() {
	}
	if err := reading.Err(); !errors.Is(err, ErrReset) || !strings.Contains(err.Error(), "ended this connection at a reset") {
		t.Errorf("the result goes on: %v", err)
	}
	// The connection of the transaction is the one that was given back last.
	if id := ask[int](t, d.DB, "SELECT CONNECTION_ID()"); id != txID && id == rawID {
		t.Errorf("connection %d", id)
	}
	if when := ask[time.Time](t, d.DB, "SELECT ordered FROM orders WHERE id = 1"); when.Year() != 2026 {
		t.Errorf("the parameters of the driver are not heeded: %v", when)
	}
}

// TestResetSession: nothing of a session outlives a reset, but for one that the test holds.
func TestResetSession(t *testing.T) {
	t.Parallel()
	d := NewDatabase(t, shop(t), Params("time_zone='%2B01:00'"))
	d.DB.SetMaxOpenConns(1)
	for _, state := range []struct{ name, leave, ask string }{
		{"foreign_key_checks", "SET foreign_key_checks = 0", "SELECT @@foreign_key_checks"},
		{"sql_mode", "SET SESSION sql_mode = ''", "SELECT @@sql_mode"},
		{"time_zone", "SET time_zone = '+05:00'", "SELECT @@time_zone"},
		{"autocommit", "SET autocommit = 0", "SELECT IF(@@autocommit, 'on', 'off')"},
		{"timestamp", "SET timestamp = 1000", "SELECT YEAR(NOW()) > 2000"},
		{"character set", "SET NAMES latin1", "SELECT CONCAT(@@character_set_client, @@collation_connection)"},
		{"user variable", "SET @x = 1", "SELECT IFNULL(@x, 'none')"},
		{"temporary table", "CREATE TEMPORARY TABLE orders (a INT)", "SELECT COUNT(*) FROM orders"},
		{"user lock", "DO GET_LOCK('z', 0)", "SELECT IS_FREE_LOCK('z')"},
		{"database", "USE information_schema", "SELECT DATABASE()"},
		{"last_insert_id", "INSERT INTO orders (item) VALUES ('a bed')", "SELECT LAST_INSERT_ID()"},
		{"transaction", "START TRANSACTION; DELETE FROM orders", "SELECT COUNT(*) FROM orders"},
		{"locked table", "LOCK TABLES orders WRITE; DELETE FROM orders", "SELECT COUNT(*) FROM orders"},
		{"XA transaction", "XA START 'left'; DELETE FROM orders", "SELECT COUNT(*) FROM orders"},
	} {
		before := ask[string](t, d.DB, state.ask)
		for statement := range strings.SplitSeq(state.leave, "; ") {
			exe(t, d.DB, statement)
		}
		if got := ask[string](t, d.DB, state.ask); got == before {
			t.Errorf("%s: %s says %s before and after", state.name, state.ask, got)
		}
		d.Reset()
		if got := ask[string](t, d.DB, state.ask); got != before {
			t.Errorf("%s: after a reset %s, before %s", state.name, got, before)
		}
	}
	held, err := d.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exe(t, held, "SET @x = 1")
	d.Reset()
	if got := ask[string](t, held, "SELECT IFNULL(@x, 'none')"); got != "1" {
		t.Errorf("a session that the test holds has lost its variable: %s", got)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if got := ask[string](t, d.DB, "SELECT IFNULL(@x, 'none')"); got != "none" {
		t.Errorf("a session that the test has given back goes on: %s", got)
	}
}

// TestRollbackAfterReset is what `defer tx.Rollback()` does.
func TestRollbackAfterReset(t *testing.T) {
	t.Parallel()
	d := NewDatabase(t, shop(t))
	tx, err := d.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exe(t, tx, "DELETE FROM orders")
	d.Reset()
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	exe(t, d.DB, "DELETE FROM orders")
}

// TestKilled says why a connection is gone that the instance ended: the negative control of
// TestReset, as nothing is rolled back.
func TestKilled(t *testing.T) {
	t.Parallel()
	d := NewDatabase(t, shop(t))
	for name, again := range map[string]func(c *sql.Conn) error{
		"exec": func(c *sql.Conn) error { _, err := c.ExecContext(t.Context(), "DELETE FROM orders"); return err },
		"query": func(c *sql.Conn) error {
			return c.QueryRowContext(t.Context(), "SELECT 1").Scan(new(int))
		},
		"ping": func(c *sql.Conn) error { return c.PingContext(t.Context()) },
		"commit": func(c *sql.Conn) error {
			_, err := c.ExecContext(t.Context(), "COMMIT")
			return err
		},
	} {
		c, err := d.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exe(t, c, "BEGIN")
		exe(t, c, "DELETE FROM orders")
		d.pool.resets.Add(1)
		if _, err := d.lease.all.api.ResetDatabase(t.Context(), d.Name, ""); err != nil {
			t.Fatal(err)
		}
		if err := again(c); !errors.Is(err, ErrReset) || !strings.Contains(err.Error(), "since it had a transaction") {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	// The pool has others.
	exe(t, d.DB, "DELETE FROM orders")
}

// TestLeftovers ends tests that leave everything open.
func TestLeftovers(t *testing.T) {
	template := shop(t)
	slept := make(chan error, 1)
	left := t.Run("leave", func(t *testing.T) {
		db := New(t, template, TTL(2*time.Hour))
		exe(t, db, "INSERT INTO orders (item) VALUES ('a desk')")
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		exe(t, tx, "UPDATE orders SET item = 'x'")
		for _, query := range []string{"DO GET_LOCK('a', 1)", "SET autocommit = 0"} {
			c, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			exe(t, c, query)
			exe(t, c, "SELECT * FROM orders")
		}
		//nolint:rowserrcheck,sqlclosecheck // that is what is tested
		rows, err := db.QueryContext(context.Background(), "SELECT a.id FROM orders a JOIN orders b")
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		begun := make(chan bool)
		go func() {
			close(begun)
			_, err := db.ExecContext(context.Background(), "DO SLEEP(600)")
			slept <- err
		}()
		<-begun
		time.Sleep(20 * time.Millisecond)
	})
	if !left {
		return
	}
	begin := time.Now()
	if err := <-slept; err == nil {
		t.Error("a query outlives its test")
	}
	t.Run("find", func(t *testing.T) {
		db := New(t, template, TTL(2*time.Hour))
		if n := ask[int](t, db, "SELECT COUNT(*) FROM orders WHERE item <> 'x'"); n != 3 {
			t.Errorf("%d rows", n)
		}
		exe(t, db, "DROP TABLE orders") // no connection holds a lock
	})
	if d := time.Since(begin); d > 5*time.Minute {
		t.Errorf("the next test waited for %v", d)
	}
}

// TestContext gives up when the test's context ends.
func TestContext(t *testing.T) {
	t.Parallel()
	template := shop(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &fakeT{ctx: ctx}
	f.run(func() { New(f, template) })
	if !f.failed || !strings.Contains(f.log, "context canceled") {
		t.Errorf("log: %s", f.log)
	}
}
