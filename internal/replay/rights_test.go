package replay

import (
	"errors"
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayOfGrantOnGone: a right on a routine or table that was dropped before it was given, as MariaDB's log may have it,
// holds nothing up that follows; that somebody calls such a routine does.
func TestReplayOfGrantOnGone(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		if w.Flavour == server.MySQL {
			return // which gives rights and logs them at once
		}
		gone := "USE shop; SET sql_log_bin = 0; CREATE PROCEDURE p() SELECT 1; CREATE TABLE gone (a INT); SET sql_log_bin = 1;"
		w.Load(t, "CREATE USER other; "+gone+"GRANT EXECUTE ON PROCEDURE p TO other; GRANT SELECT (a) ON gone TO other; SET sql_log_bin = 0; DROP PROCEDURE p; DROP TABLE gone; SET sql_log_bin = 1;"+
			"CREATE TABLE behind (a INT); INSERT INTO behind VALUES (7)")
		got, _ := w.replay(t, slices.Clone(w.logs(t)))
		if rows := asked(t, got, "SELECT a FROM shop.behind"); !slices.Equal(rows, []string{"7"}) {
			t.Errorf("behind the rights there is %q", rows)
		}
		w.Load(t, "USE shop; SET sql_log_bin = 0; CREATE TABLE gone (a INT); SET sql_log_bin = 1; ALTER TABLE gone COMMENT 'it'; SET sql_log_bin = 0; DROP TABLE gone")
		var apply *ApplyError
		if _, err := w.job(t, w.logs(t)).Run(t.Context()); !errors.As(err, &apply) || apply.Errno != 1146 {
			t.Errorf("an ALTER of what is not there: %v", err)
		}
	})
}
