package reset_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestEndNobody: no name does not mean the accounts without one.
func TestEndNobody(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", "CREATE TABLE t (a INT)")
		l.exec("CREATE USER ''@localhost IDENTIFIED BY 'aA1_aaaaaaaa'")
		db, err := dbconn.Open(l.srv.Endpoint.Socket, dbconn.Login{Password: "aA1_aaaaaaaa"}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := l.session.End(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "has no name") {
			t.Errorf("connections of nobody: %v", err)
		}
		var one int
		if err := conn.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil {
			t.Errorf("a connection without a name was ended: %v", err)
		}
	})
}
