package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayOfKilledServer: writers who are in each other's way, files of the log that end meanwhile, and a server that
// is killed. The log has what the server itself recovers.
func TestReplayOfKilledServer(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w, logs := killed(t, want, 3)
		before := state(t, w.Running)
		got, r := w.replay(t, logs)
		t.Logf("%d groups in %d files, %.1f s", r.Groups, len(logs), r.Seconds)
		if r.Groups < 500 || len(logs) < 6 {
			t.Errorf("%+v of %d files", r, len(logs))
		}
		equal(t, before, state(t, got))
	})
}

// killed is a server that was killed twice, and has recovered, and its logs before it had. About one in 170 MariaDBs
// 10.11.19 does not recover from this: a record of its redo log does not fit the page that the records before it
// lead to, from a clean checkpoint on, whatever pages the kill has left. Then another takes its place.
func killed(t *testing.T, want string, tries uint64) (w *twin, logs []Log) {
	t.Helper()
	w = newTwin(t, want, "contended.sql")
	for epoch := range uint64(2) {
		w.contend(t, time.Second, 2*tries+epoch)
		w.Kill()
		logs = copies(t, w.logs(t))
		err := w.TryRestartAs(t, server.Run, false, logging) // the last group of the first log may be torn
		if err == nil {
			continue
		}
		if tries == 1 || !strings.Contains(err.Error(), "DELETE_ROW_FORMAT_DYNAMIC due to corruption") {
			t.Fatal(err)
		}
		t.Logf("MariaDB's own recovery fails: %v", err)
		return killed(t, want, tries-1)
	}
	return w, logs
}

// contend has writers at work for a while.
func (w *twin) contend(t *testing.T, d time.Duration, seed uint64) {
	t.Helper()
	db, err := dbconn.Open(w.Endpoint.Socket, w.Endpoint.Login, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			for ctx.Err() == nil {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				for range 1 + rnd.IntN(3) {
					// Deadlocks and values that are there are part of it.
					if _, err = tx.ExecContext(ctx, contention(rnd)); err != nil {
						break
					}
				}
				if err != nil || rnd.IntN(20) == 0 {
					_ = tx.Rollback()
				} else {
					_ = tx.Commit()
				}
			}
		})
	}
	for i := range 3 {
		time.Sleep(d / 4)
		exec(t, w.Running, "FLUSH BINARY LOGS", fmt.Sprintf("CREATE TABLE shop.made_%d_%d LIKE shop.hot", seed, i))
	}
	writers.Wait()
}

// contention is a statement about few rows.
func contention(rnd *rand.Rand) string {
	id := 1 + rnd.IntN(20)
	switch rnd.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("UPDATE hot SET n = n + 1 WHERE id = %d", id)
	case 2:
		return fmt.Sprintf("UPDATE hot SET u = %d WHERE id = %d", rnd.IntN(1000), id)
	case 3:
		return fmt.Sprintf("INSERT INTO parent VALUES (%d, '%d')", id, rnd.Uint32())
	case 4:
		return fmt.Sprintf("INSERT INTO child VALUES (%d, %d)", rnd.IntN(10000), id)
	case 5:
		return fmt.Sprintf("DELETE FROM parent WHERE id = %d", id)
	case 6:
		return fmt.Sprintf("INSERT INTO keyless VALUES (%d, %d)", id, rnd.IntN(3))
	default:
		return fmt.Sprintf("UPDATE keyless SET b = b + 1 WHERE a = %d LIMIT 1", id)
	}
}

// TestReplayOfPreparedTransaction: one that was prepared and neither committed nor rolled back waits for that after.
func TestReplayOfPreparedTransaction(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "USE shop; XA START 'x'; INSERT INTO counted VALUES (1, ''); XA END 'x'; XA PREPARE 'x'")
		w.Load(t, "USE shop; INSERT INTO counted VALUES (2, '')")
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if list := query(t, got, "XA RECOVER"); len(list) != 1 {
			t.Errorf("prepared: %q", list)
		}
		exec(t, got, "XA COMMIT 'x'")
		if counted(t, got) != upTo(2) {
			t.Error(counted(t, got))
		}
	})
}
