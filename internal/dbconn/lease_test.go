package dbconn_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestLeaseOfPartialRevokes: the account of a clone has its own database and no other, also where GRANT takes the name of a
// database for no pattern, as it does while partial_revokes is on.
func TestLeaseOfPartialRevokes(t *testing.T) {
	t.Parallel()
	servertest.EachFrom(t, "mysql:8.0.16", func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE shop_1; CREATE DATABASE shopX1;")
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
		for _, to := range []string{"ON", "OFF"} {
			if _, err := conn.ExecContext(t.Context(), "SET GLOBAL partial_revokes = "+to); err != nil {
				t.Fatal(err)
			}
			login := dbconn.Login{User: "u_" + to, Password: dbconn.NewPassword()}
			if err := srv.Dialect().MakeLease(t.Context(), conn, login, "shop_1"); err != nil {
				t.Fatal(err)
			}
			leased, err := dbconn.Open(srv.Endpoint.Socket, login, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { leased.Close() })
			if _, err := leased.ExecContext(t.Context(), "CREATE TABLE shop_1.t"+to+" (id INT)"); err != nil {
				t.Errorf("partial_revokes=%s: %v", to, err)
			}
			if _, err := leased.ExecContext(t.Context(), "CREATE TABLE shopX1.t"+to+" (id INT)"); err == nil {
				t.Errorf("partial_revokes=%s: it has another database", to)
			}
		}
	})
}
