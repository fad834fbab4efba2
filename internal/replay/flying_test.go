package replay

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestReplayPassesOverWhatIsDone: what statements that began before a base have done, and it has, is no reason to refuse
// the log behind it; of statements that began later it is.
func TestReplayPassesOverWhatIsDone(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		if servertest.Find(t, want).Flavour != server.MariaDB {
			return // MySQL has what its log has
		}
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running, "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "ALTER TABLE shop.counted ADD z INT", "CREATE PROCEDURE shop.p() SELECT 1", "DROP PROCEDURE shop.p", "CREATE USER somebody")
		before := state(t, w.Running)
		w.Stop(t)
		ahead := func() *Job {
			j := w.job(t, w.logs(t))
			if err := errors.Join(sys.RemoveTree(j.DataDir), sys.CopyTree(t.Context(), w.DataDir(), j.DataDir, func(rel string, _ fs.FileMode) (bool, error) {
				return strings.HasPrefix(rel, server.BinlogName) || server.Transient(rel), nil
			})); err != nil {
				t.Fatal(err)
			}
			return j
		}
		j := ahead()
		j.Made = time.Now()
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, before, state(t, servertest.StartOn(t, w.Server, j.DataDir, logging)))
		j = ahead()
		j.Made = time.Now().Add(-time.Hour)
		var apply *ApplyError
		if _, err := j.Run(t.Context()); !errors.As(err, &apply) || apply.Errno != 1537 {
			t.Errorf("of statements that began later: %v", err)
		}
	})
}

// TestReplayLeavesOutWhatIsAhead: a statement that the data has is left out once, and one that says the same and began later
// is not.
func TestReplayLeavesOutWhatIsAhead(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		const text = "TRUNCATE TABLE shop.counted"
		exec(t, w.Running, text, text)
		w.Stop(t)
		j := w.job(t, w.logs(t))
		j.Ahead = []string{binlog.StatementID(&binlog.Query{SQL: []byte(text)})}
		for made, leftOut := range map[time.Time]int{time.Now(): 1, time.Now().Add(-time.Hour): 0} {
			out, n := groups{}, 0
			j.Made = made
			if err := j.ahead(out); err != nil {
				t.Fatal(err)
			}
			for _, starts := range out {
				n += len(starts)
			}
			if n != leftOut {
				t.Errorf("of a base of %s %d are left out", made, n)
			}
		}
	})
}
