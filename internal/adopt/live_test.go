package adopt

import (
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestAsk: what keeps a server from being adopted, and what of its settings is in no option file.
func TestAsk(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		r := servertest.Start(t, servertest.Find(t, want))
		flavour := r.Flavour
		db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		ask := func() *Live {
			l, err := Ask(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := ask()
		if l.Prepared != 0 || !l.NoNetwork || l.Flavour != flavour {
			t.Errorf("%+v", l)
		}
		r.Load(t, "CREATE DATABASE a; CREATE TABLE a.t (b INT) ENGINE=InnoDB; XA START 'x'; INSERT INTO a.t VALUES (1); XA END 'x'; XA PREPARE 'x'")
		if l := ask(); l.Prepared != 1 {
			t.Errorf("%d transactions are prepared", l.Prepared)
		}
		r.Load(t, "XA ROLLBACK 'x'")
		if flavour != server.MySQL {
			return
		}
		r.Load(t, "SET PERSIST max_connections = 77")
		if l := ask(); len(l.Persisted) != 0 {
			t.Errorf("what the server does not read: %v", l.Persisted)
		}
		if err := l.readPersisted(t.Context(), db); err != nil || !slices.Contains(l.Persisted, Option{"max_connections", "77"}) {
			t.Errorf("persisted: %v, %v", l.Persisted, err)
		}
		r.Load(t, "SET GLOBAL offline_mode = ON")
		if err := Readmit(t.Context(), db, flavour); err != nil {
			t.Error(err)
		}
		if on, err := variable(t.Context(), db, "offline_mode"); err != nil || on != "OFF" {
			t.Errorf("offline_mode is %s, %v", on, err)
		}
	})
}
