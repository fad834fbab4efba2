package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayWithoutNotes: a log that removes the tables in which appliers note how far they are is replayed, and so is one
// behind a base that lacks them, or has them in another form.
func TestReplayWithoutNotes(t *testing.T) {
	t.Parallel()
	removals := map[server.Flavour][]string{
		server.MariaDB: {
			"DROP TABLE mysql.gtid_slave_pos",
			"ALTER TABLE mysql.gtid_slave_pos DROP PRIMARY KEY, DROP COLUMN sub_id",
		},
		server.MySQL: {
			"DROP TABLE mysql.slave_relay_log_info; DROP TABLE mysql.slave_worker_info",
			"ALTER TABLE mysql.slave_relay_log_info ADD more INT; ALTER TABLE mysql.slave_master_info DROP COLUMN Port",
		},
	}
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		for _, removal := range removals[servertest.Find(t, want).Flavour] {
			t.Run(strings.ReplaceAll(removal, " ", "-"), func(t *testing.T) {
				t.Parallel()
				w := newTwin(t, want, "counted.sql")
				w.Load(t, "CREATE TABLE shop.noted (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO shop.noted VALUES (1);"+removal+"; INSERT INTO shop.noted VALUES (2)")
				got, _ := w.replay(t, w.logs(t))
				noted(t, got, "1", "2")
				w.rebase(t)
				w.Load(t, "INSERT INTO shop.noted VALUES (3)")
				got, _ = w.replay(t, w.logs(t))
				noted(t, got, "1", "2", "3")
			})
		}
	})
}

// noted compares the rows of shop.noted.
func noted(t *testing.T, r *servertest.Running, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, query(t, r, "SELECT a FROM shop.noted ORDER BY a")); diff != "" {
		t.Errorf("rows (-want +replayed):\n%s", diff)
	}
}
