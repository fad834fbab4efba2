package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestHoldUnbound: while they are held nobody writes to tables without transactions, though one of them cannot be opened.
func TestHoldUnbound(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, nil)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, text := range []string{"CREATE DATABASE d", "CREATE TABLE d.good (a INT) ENGINE=MyISAM", "CREATE TABLE d.broken (a INT) ENGINE=MyISAM", "FLUSH TABLES"} {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(srv.DataDir(), "d", "broken.MYD")); err != nil {
			t.Fatal(err)
		}
		s := &Supervisor{inst: &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}}, db: db}
		release, err := s.holdUnbound(t.Context())
		if err == nil || !strings.Contains(err.Error(), "`broken`") || strings.Contains(err.Error(), "`good`") {
			t.Errorf("which are not held: %v", err)
		}
		write := func() error {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			return dbconn.ExecAll(t.Context(), conn, "SET SESSION lock_wait_timeout = 1", "INSERT INTO d.good VALUES (1)")
		}
		if err := write(); !dbconn.WaitedForLock(err) {
			t.Errorf("a write while they are held: %v", err)
		}
		release()
		if err := write(); err != nil {
			t.Error(err)
		}
	})
}
