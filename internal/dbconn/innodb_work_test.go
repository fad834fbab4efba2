package dbconn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestInnoDBWork waits while many rows of an ended connection are rolled back, and many purged.
func TestInnoDBWork(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE a; CREATE TABLE a.t (id int PRIMARY KEY AUTO_INCREMENT, b varchar(100), KEY (b)) ENGINE=InnoDB; INSERT INTO a.t (b) VALUES ('x');"+
			strings.Repeat("INSERT INTO a.t (b) SELECT CONCAT(id, 'y') FROM a.t;", 15))
		db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		until := func(what string, is func(dbconn.InnoDBWork) bool) {
			t.Helper()
			for end := time.Now().Add(4 * time.Minute); ; time.Sleep(time.Millisecond) {
				work, err := srv.Dialect().InnoDBWork(t.Context(), conn)
				if err != nil {
					t.Fatal(err)
				}
				if is(work) {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("the report does not say that %s", what)
				}
			}
		}
		ends, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var id uint64
		if err := ends.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"BEGIN", "UPDATE a.t SET b = CONCAT(b, 'z')", fmt.Sprintf("KILL CONNECTION %d", id)} {
			on := ends
			if strings.HasPrefix(text, "KILL") {
				on = conn
			}
			if _, err := on.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		until("it rolls back", func(w dbconn.InnoDBWork) bool { return w.RollsBack })
		until("it is done with that", func(w dbconn.InnoDBWork) bool { return !w.RollsBack })
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM a.t WHERE id % 2 = 0"); err != nil {
			t.Fatal(err)
		}
		until("it purges", func(w dbconn.InnoDBWork) bool { return w.Purge != "" })
		until("it is done with that", func(w dbconn.InnoDBWork) bool { return w.Purge == "" })
	})
}
