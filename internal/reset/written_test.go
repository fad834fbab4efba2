package reset_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestWrittenToWhileMadeAgain makes a database again while others write the very rows to it that it is to have: that it
// succeeds, or is busy, and after they have gone it is as before.
func TestWrittenToWhileMadeAgain(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "shop", "CREATE TABLE a (id INT PRIMARY KEY, b INT); INSERT INTO a VALUES (1, 1), (2, 2), (3, 3);")
		le := l.lease("shop_1")
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, login := range []dbconn.Login{le.login, l.srv.Endpoint.Login} {
			db, err := dbconn.Open(l.srv.Endpoint.Socket, login, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			group.Go(func() {
				for ctx.Err() == nil {
					_, _ = db.ExecContext(ctx, "INSERT INTO shop_1.a VALUES (3, 4)") // most have no table, or find the row
				}
			})
		}
		busy := 0
		for range 60 {
			l.Journal.Invalidate(le.Name, "a test wants it made again")
			_, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			switch {
			case errors.Is(err, reset.ErrLocked):
				busy++
			case err != nil:
				t.Errorf("reset: %v", err)
			}
		}
		t.Logf("%d of 60 were busy", busy)
		cancel()
		group.Wait()
		le.reset()
	})
}
