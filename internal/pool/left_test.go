package pool_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// conn is a connection of its own that runs statements, one a line.
func (h *house) conn(db *sql.DB, text string) *sql.Conn {
	h.t.Helper()
	conn, err := db.Conn(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	h.on(conn, text)
	return conn
}

func (h *house) on(conn *sql.Conn, text string) {
	h.t.Helper()
	for line := range strings.Lines(text) {
		if _, err := conn.ExecContext(h.t.Context(), strings.TrimSpace(line)); err != nil {
			h.t.Fatalf("%s: %v", line, err)
		}
	}
}

// cut ends a connection as an application that crashes does.
func (h *house) cut(conn *sql.Conn) {
	h.t.Helper()
	var id uint64
	if err := conn.QueryRowContext(h.t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return // a reset has ended it
	}
	_ = conn.Raw(func(c any) error { return c.(interface{ Close() error }).Close() })
	h.soon("the end of a connection", func() bool {
		var n int
		if err := h.root.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id).Scan(&n); err != nil {
			h.t.Fatal(err)
		}
		return n == 0
	})
}

// xids are the names of the prepared transactions, sorted as the server does.
func (h *house) xids() string {
	h.t.Helper()
	rows, err := h.root.Query("XA RECOVER")
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var n int
		var name string
		if err := rows.Scan(&n, &n, &n, &name); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(list, " ")
}

const prepareRead = "XA START 'NAME'\nSELECT * FROM item WHERE id = 1 FOR UPDATE\nXA END 'NAME'\nXA PREPARE 'NAME'"

func read(name string) string { return strings.ReplaceAll(prepareRead, "NAME", name) }

func wrote(name, table string) string {
	return strings.Replace(read(name), "SELECT * FROM item WHERE id = 1 FOR UPDATE", "INSERT INTO "+table+" VALUES (5, 1)", 1)
}

// TestPreparedLeft: a transaction that a lease left prepared, with or without rows, is rolled back at its
// reset and at its end; those of others stay.
func TestPreparedLeft(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "CREATE DATABASE own")
		h.exec(h.root, "CREATE TABLE own.t (id int PRIMARY KEY, a int)")
		h.cut(h.conn(h.root, wrote("older", "own.t"))) // before any clone is
		h.exec(h.root, "CREATE TABLE own.u (id int PRIMARY KEY, a int)")
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		_, inB := h.lease(pool.Request{Template: "shop", Name: "other"})
		h.cut(h.conn(h.root, wrote("outside", "own.u")))
		alive := h.conn(inB, read("alive"))

		for _, prepare := range []string{read("gone"), wrote("gone", "sale (id, item)"), "XA START 'gone'\nXA END 'gone'\nXA PREPARE 'gone'"} {
			for _, cut := range []bool{true, false} {
				conn := h.conn(inA, prepare)
				if cut {
					h.cut(conn)
				}
				h.clean(a.Name, "shop")
				if got := h.xids(); strings.Contains(got, "gone") {
					t.Errorf("after %s (cut %t) there is %s", prepare, cut, got)
				}
				if !cut {
					h.cut(conn)
					h.clean(a.Name, "shop")
				}
				h.exec(inA, "UPDATE item SET name = 'free' WHERE id = 1")
				h.clean(a.Name, "shop")
			}
		}
		h.cut(h.conn(inA, read("gone")))
		h.cut(h.conn(inA, wrote("gone2", "sale (id, item)")))
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Error(err)
		}
		kept, inKept := h.lease(pool.Request{Template: "shop", Name: "kept"}) // one whose database goes
		h.cut(h.conn(inKept, read("gone3")))
		h.cut(h.conn(inKept, wrote("gone4", "sale (id, item)")))
		if err := h.Drop(t.Context(), kept.Name); err != nil {
			t.Error(err)
		}
		h.on(alive, "XA COMMIT 'alive'")
		got := h.xids()
		if !strings.Contains(got, "outside") || !strings.Contains(got, "older") || strings.Contains(got, "gone") {
			t.Errorf("prepared are: %s", got)
		}
		h.exec(h.root, "XA COMMIT 'outside'")
		h.exec(h.root, "XA ROLLBACK 'older'")
	})
}

// TestPreparedAfterLoss: once the log is lost, what a prepared transaction changed is unknown, so
// that it stays.
func TestPreparedAfterLoss(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "CREATE DATABASE own")
		h.exec(h.root, "CREATE TABLE own.t (id int PRIMARY KEY, a int)")
		h.put("shop")
		a, _ := h.lease(pool.Request{Template: "shop"})
		h.cut(h.conn(h.root, wrote("unseen", "own.t")))
		h.exec(h.root, h.resetLogs())
		h.clean(a.Name, "shop")
		if got := h.xids(); got != "unseen" {
			t.Errorf("prepared are: %s", got)
		}
		h.exec(h.root, "XA COMMIT 'unseen'")
	})
}

// TestPreparedBeforeRestart: what a lease had prepared when the server, or the reader of its log, was
// restarted is found in the older log and rolled back at the reset; transactions of others stay.
func TestPreparedBeforeRestart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		for _, flush := range []string{"DO 0", "FLUSH BINARY LOGS"} {
			t.Run(flush, func(t *testing.T) {
				h := newHouse(t, want)
				h.exec(h.root, "CREATE DATABASE own")
				h.exec(h.root, "CREATE TABLE own.t (id int PRIMARY KEY, a int)")
				h.put("shop")
				a, inA := h.lease(pool.Request{Template: "shop"})
				b, inB := h.lease(pool.Request{Template: "shop", Name: "b"})
				h.cut(h.conn(inA, wrote("gone", "sale (id, item)")))
				h.cut(h.conn(inB, wrote("gone_too", "sale (id, item)")))
				h.cut(h.conn(h.root, wrote("outside", "own.t")))
				h.Close()
				h.exec(h.root, flush)
				h.open()
				h.clean(a.Name, "shop")
				if err := h.Drop(t.Context(), b.Name); err != nil {
					t.Error(err)
				}
				h.soon("the end of what was prepared", func() bool { return h.xids() == "outside" })
				h.exec(h.root, "XA COMMIT 'outside'")
			})
		}
	})
}

// TestPreparedBeforeTemplate: a transaction that was prepared before a database became a template, and
// is committed after, changes the template.
func TestPreparedBeforeTemplate(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "CREATE DATABASE own")
		h.exec(h.root, "CREATE TABLE own.t (id int PRIMARY KEY, a int)")
		h.put("shop") // from here on the log is followed
		h.cut(h.conn(h.root, wrote("late", "own.t")))
		h.put("own")
		a, inA := h.lease(pool.Request{Template: "own"})
		h.exec(h.root, "XA COMMIT 'late'")
		h.exec(inA, "TRUNCATE t")
		if _, err := h.Reset(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("the template was changed, and a reset says %v", err)
		}
	})
}

// TestReadOnlyDatabase: MySQL's ALTER DATABASE ... READ ONLY ends with the test that said it.
func TestReadOnlyDatabase(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		if h.srv.Flavour != server.MySQL {
			if _, err := h.root.Exec("ALTER DATABASE shop READ ONLY = 1"); err == nil {
				t.Error("this server has databases that are read only as well")
			}
			return
		}
		h.limit(64, 1)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		named, inNamed := h.lease(pool.Request{Template: "shop", Name: "named"})
		writable := func(name string, db *sql.DB) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), "INSERT INTO sale (item) VALUES (1)"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, text := range []string{"ALTER DATABASE READ ONLY = 1", "UPDATE item SET name = 'x'\nALTER DATABASE " + a.Name + " READ ONLY 1", "ALTER SCHEMA `" + a.Name + "` /*!80022 READ ONLY = 1 */"} {
			h.try(inA, text)
			if _, err := inA.ExecContext(t.Context(), "INSERT INTO sale (item) VALUES (1)"); err == nil {
				t.Fatalf("%s: it can be written to", text)
			}
			h.clean(a.Name, "shop")
			writable(a.Name, inA)
		}
		h.try(inA, "ALTER DATABASE READ ONLY = 1")
		h.exec(h.root, h.resetLogs()) // the journal has not seen that
		h.clean(a.Name, "shop")
		writable(a.Name, inA)
		h.try(inA, "ALTER DATABASE READ ONLY = 1")
		h.try(inNamed, "ALTER DATABASE READ ONLY = 1")
		for _, name := range []string{a.Name, named.Name} {
			if err := h.Drop(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
		h.exec(h.root, "ALTER DATABASE shop READ ONLY = 1") // by which a template is kept as it is
		for range 4 {
			l, db := h.lease(pool.Request{Template: "shop"})
			writable(l.Name, db)
			h.clean(l.Name, "shop")
			h.exec(db, "DROP TABLE sale")
			h.clean(l.Name, "shop")
		}
		h.soon("no database of one that is gone", func() bool { return len(h.databases("named")) == 0 })
	})
}

// TestSettingsOfAll: a lease cannot stop others by what is the whole server's. (MariaDB's BACKUP LOCK
// of a table of its own is its own affair, as LOCK TABLES is.)
func TestSettingsOfAll(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.put("shop")
		_, inA := h.lease(pool.Request{Template: "shop"})
		b, inB := h.lease(pool.Request{Template: "shop"})
		for _, statement := range []string{
			"FLUSH TABLES WITH READ LOCK", "LOCK INSTANCE FOR BACKUP", "BACKUP STAGE START", "FLUSH BINARY LOGS", "RESET MASTER", "RESET BINARY LOGS AND GTIDS",
			"SET GLOBAL read_only = ON", "SET GLOBAL super_read_only = ON", "SET GLOBAL offline_mode = ON", "SET GLOBAL max_connections = 1", "SHUTDOWN", "LOCK TABLES shop.item READ",
			"SET SESSION binlog_format = STATEMENT", "SET SESSION binlog_row_image = MINIMAL", "SET SESSION binlog_row_value_options = PARTIAL_JSON", "SET SESSION binlog_transaction_compression = ON",
			"SET SESSION sql_log_bin = 0", "KILL 1", "XA RECOVER", "SET GLOBAL event_scheduler = OFF",
		} {
			conn := h.conn(inA, "SELECT 1")
			_, err := conn.ExecContext(t.Context(), statement)
			// MariaDB lets everybody see the names of prepared transactions.
			if err == nil && (statement != "XA RECOVER" || h.srv.Flavour == server.MySQL) {
				t.Errorf("%s: a lease may do that", statement)
			}
			began := time.Now()
			h.exec(inB, "UPDATE item SET name = 'x'")
			if _, err := h.Reset(t.Context(), b.Name, reset.RestoreCounters); err != nil || time.Since(began) > 40*time.Second {
				t.Errorf("%s: another's reset: %v, after %s", statement, err, time.Since(began))
			}
			conn.Close()
		}
	})
}

// TestLocksOfConnections: what an idle connection holds ends with it when the lease does, and stands
// in the way of no reset.
func TestLocksOfConnections(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		b, inB := h.lease(pool.Request{Template: "shop", Name: "other"})
		other := h.conn(inB, "DO GET_LOCK('other', 0)")
		for _, text := range []string{"DO GET_LOCK('mine', 0)", "HANDLER item OPEN\nHANDLER item READ FIRST", "LOCK TABLES item READ", "SET @x = 1\nFLUSH TABLES item WITH READ LOCK"} {
			h.try(inA, "UPDATE item SET name = 'x'\nALTER TABLE sale ADD COLUMN y int")
			conn, err := inA.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			for line := range strings.Lines(text) {
				_, _ = conn.ExecContext(t.Context(), strings.TrimSpace(line)) // a lease may not do all of it
			}
			h.clean(a.Name, "shop")
			h.clean(b.Name, "shop")
		}
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Fatal(err)
		}
		var free bool
		if err := h.root.QueryRow("SELECT IS_FREE_LOCK('mine')").Scan(&free); err != nil || !free {
			t.Errorf("the lock of a lease that has ended is free: %t, %v", free, err)
		}
		if err := h.root.QueryRow("SELECT IS_FREE_LOCK('other')").Scan(&free); err != nil || free {
			t.Errorf("the lock of another lease is free: %t, %v", free, err)
		}
		h.on(other, "SELECT 1")
	})
}
