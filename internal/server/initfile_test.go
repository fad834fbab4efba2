package server_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestInitFileUnderOddSettings starts a server whose first session, that of the init file, could neither write nor
// commit by itself.
func TestInitFileUnderOddSettings(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, map[string]string{"autocommit": "0", "transaction_read_only": "1", "completion_type": "RELEASE", "sql_mode": "ANSI_QUOTES"})
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, text := range []string{"CREATE DATABASE made", "CREATE TABLE made.t (a INT)", "INSERT INTO made.t VALUES (1)"} {
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		db.SetMaxIdleConns(0) // the next asks in another session
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM made.t").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}
