package replay

import (
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayOfWrittenHistory: a row that was written as one that ended at what was the last moment has ended after a
// replay; one that has not ended has not.
func TestReplayOfWrittenHistory(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Find(t, want)
		if srv.Flavour != server.MariaDB || srv.Version.Compare(server.Version{Major: 10, Minor: 11}) < 0 {
			return // without system_versioning_insert_history
		}
		w := newTwin(t, want, "counted.sql")
		w.Load(t, `CREATE TABLE shop.written (a INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
			PERIOD FOR SYSTEM_TIME (s, e)) ENGINE=InnoDB WITH SYSTEM VERSIONING;
			SET time_zone = '+00:00', system_versioning_insert_history = 1;
			INSERT INTO shop.written (a, s, e) VALUES (1, '2001-01-01', '2038-01-19 03:14:07.999999'), (2, '2001-01-01', '2038-01-19 03:14:06');
			INSERT INTO shop.written (a) VALUES (3); UPDATE shop.written SET a = 4 WHERE a = 3`)
		before := rows(t, w.Running)
		got, _ := w.replay(t, w.logs(t))
		if after := rows(t, got); !slices.Equal(before, after) {
			t.Errorf("rows %q, want %q", after, before)
		}
	})
}

// rows are those of shop.written, and when each of them ends.
func rows(t *testing.T, r *servertest.Running) []string {
	t.Helper()
	return asked(t, r, "SELECT a, s, e FROM shop.written FOR SYSTEM_TIME ALL ORDER BY a, s", "SELECT COUNT(*) FROM shop.written")
}
