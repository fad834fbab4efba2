package dbconn_test

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestOpenTransactions opens transactions of every sort, and looks at once.
func TestOpenTransactions(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, own := withLessee(t, want)
		for _, tc := range []struct {
			name       string
			statements []string
			open       bool
		}{
			{"nothing", nil, false},
			{"autocommit", []string{"SELECT * FROM t", "UPDATE t SET id = 1"}, false},
			{"read", []string{"BEGIN", "SELECT * FROM t"}, true},
			{"read only", []string{"START TRANSACTION READ ONLY", "SELECT * FROM t"}, true},
			{"consistent snapshot", []string{"START TRANSACTION WITH CONSISTENT SNAPSHOT"}, true},
			{"written", []string{"BEGIN", "INSERT INTO t VALUES (2)"}, true},
			{"autocommit off", []string{"SET autocommit = 0", "SELECT * FROM t"}, true},
			{"ended", []string{"BEGIN", "INSERT INTO t VALUES (2)", "ROLLBACK"}, false},
			{"XA", []string{"XA START 'a'", "INSERT INTO t VALUES (2)"}, true},
			{"XA prepared", []string{"XA START 'b'", "INSERT INTO t VALUES (3)", "XA END 'b'", "XA PREPARE 'b'"}, true},
		} {
			t.Run(tc.name, func(t *testing.T) {
				for range 20 {
					lessee, err := dbconn.Open(srv.Endpoint.Socket, dbconn.Login{User: "lessee", Password: "x_aA1x_aA1"}, "a")
					if err != nil {
						t.Fatal(err)
					}
					conn, err := lessee.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range tc.statements {
						if _, err := conn.ExecContext(t.Context(), s); err != nil {
							t.Fatal(s, err)
						}
					}
					list, err := srv.Dialect().OpenTransactions(t.Context(), own, "lessee")
					if err != nil || len(list) > 0 != tc.open {
						t.Errorf("%v (%v), want one: %v", list, err, tc.open)
					}
					var id uint64
					if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
						t.Fatal(err)
					}
					if tc.open && (len(list) != 1 || list[0].Thread != id || list[0].Prepared != (tc.name == "XA prepared")) {
						t.Errorf("%v, want one of connection %d", list, id)
					}
					conn.Close()
					lessee.Close()
					ended(t, own, id)
					// InnoDB lets go of the transaction later than the server of the connection.
					for len(list) > 0 {
						if list, err = srv.Dialect().OpenTransactions(t.Context(), own, "lessee"); err != nil {
							t.Fatal(err)
						}
					}
					if tc.name == "XA prepared" {
						if _, err := own.ExecContext(t.Context(), "XA ROLLBACK 'b'"); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	})
}

// withLessee starts a server with a database and the account of a lease, and connects to it as Ramaria does.
func withLessee(t *testing.T, want string) (*servertest.Running, *sql.Conn) {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE a; CREATE TABLE a.t (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO a.t VALUES (1);"+
		"CREATE USER lessee@localhost IDENTIFIED BY 'x_aA1x_aA1'; GRANT ALL ON a.* TO lessee@localhost;")
	db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	own, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	return srv, own
}

// ended waits until a connection is gone.
func ended(t *testing.T, own *sql.Conn, id uint64) {
	t.Helper()
	for range 5000 {
		var n int
		if err := own.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id = "+strconv.FormatUint(id, 10)).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("a connection stays")
}

// TestTransactionsOfThoseBefore: a connection that has had no transaction yet has none, whatever one had whose place
// in the server's tables it got.
func TestTransactionsOfThoseBefore(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, own := withLessee(t, want)
		const places = 300 // more than the server makes at once
		open := func() (*sql.DB, *sql.Conn, uint64) {
			t.Helper()
			lessee, err := dbconn.Open(srv.Endpoint.Socket, dbconn.Login{User: "lessee", Password: "x_aA1x_aA1"}, "a")
			if err != nil {
				t.Fatal(err)
			}
			conn, err := lessee.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var id uint64
			if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			return lessee, conn, id
		}
		for n := range places {
			lessee, conn, id := open()
			statements := [][]string{
				{"BEGIN", "SELECT * FROM t"},
				{"XA START 'x'", "SELECT * FROM t"},
				{"XA START 'x'", "INSERT INTO t VALUES (5)", "XA END 'x'", "XA PREPARE 'x'"},
			}[n%3]
			for _, s := range statements {
				if _, err := conn.ExecContext(t.Context(), s); err != nil {
					t.Fatal(s, err)
				}
			}
			if n%2 == 0 {
				if _, err := own.ExecContext(t.Context(), "KILL "+strconv.FormatUint(id, 10)); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
			lessee.Close()
			ended(t, own, id)
			for n%3 == 2 {
				if _, err := own.ExecContext(t.Context(), "XA ROLLBACK 'x'"); err == nil {
					break
				} else if !strings.Contains(err.Error(), "XAER") {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
		}
		for range places {
			lessee, conn, id := open()
			if list, err := srv.Dialect().OpenTransactions(t.Context(), own, "lessee"); err != nil || len(list) > 0 {
				t.Errorf("%v (%v) of connection %d", list, err, id)
			}
			if err := srv.Dialect().PreparedByOthers(t.Context(), own, "another", func(_ uint32, global, _ string) {
				t.Errorf("connection %d has prepared %s", id, global)
			}); err != nil {
				t.Fatal(err)
			}
			conn.Close()
			lessee.Close()
			ended(t, own, id)
		}
	})
}
