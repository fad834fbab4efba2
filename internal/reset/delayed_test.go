package reset_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestDelayed has INSERT DELAYED behind a lock of the lease: no row of it may come after the reset.
func TestDelayed(t *testing.T) {
	servertest.EachFrom(t, "mariadb", func(t *testing.T, want string) {
		l := newLab(t, want, "shop", "CREATE TABLE old (id int AUTO_INCREMENT PRIMARY KEY, a int) ENGINE=MyISAM; INSERT INTO old (a) VALUES (1), (2)")
		le := l.lease("shop_1")
		locker := le.do("LOCK TABLES old READ")
		defer locker.Close()
		// It waits for the lock, as other statements do, or gives up.
		defer le.do("SET lock_wait_timeout = 1\n-INSERT DELAYED INTO old (a) VALUES (3)").Close()
		le.reset()
		if _, err := locker.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Log(err) // the reset may have ended it
		}
		var late int
		if err := l.session.Conn.QueryRowContext(t.Context(), "SELECT SUM(VARIABLE_VALUE) FROM information_schema.global_status WHERE VARIABLE_NAME IN ('Delayed_writes', 'Not_flushed_delayed_rows')").Scan(&late); err != nil {
			t.Fatal(err)
		}
		if late != 0 {
			t.Errorf("the server writes %d rows when it likes", late)
		}
		le.check()
	})
}
