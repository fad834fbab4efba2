package reset_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestConcurrent commits while the lease is put back. What comes before a reset or in it
// may survive it, but not the next reset without writes beside it.
func TestConcurrent(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		ctx := context.WithoutCancel(t.Context())
		ways := map[string]int{}
		for round := range 3 {
			var wait sync.WaitGroup
			stop := make(chan struct{})
			for n := range 2 {
				wait.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						// Those in a transaction are ended now and then.
						_, _ = le.pool.ExecContext(ctx, fmt.Sprintf("UPDATE plain SET name = '%d %d' WHERE id = %d", n, i, 1+i%3))
						_, _ = le.pool.ExecContext(ctx, fmt.Sprintf("INSERT INTO visit VALUES ('2020-02-02', %d)", i*2+n))
						if tx, err := le.pool.BeginTx(ctx, nil); err == nil {
							_, _ = tx.ExecContext(ctx, fmt.Sprintf("REPLACE INTO plain VALUES (%d, 'tx')", 10+i%20))
							_ = tx.Commit()
						}
					}
				})
			}
			for range 3 {
				res, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters)
				if err != nil {
					t.Logf("round %d: %v", round, err) // it says that the lease is not to be used
					continue
				}
				ways[string(res.Way)]++
			}
			close(stop)
			wait.Wait()
			if _, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters); err != nil {
				t.Fatal(err)
			}
			if diff := differences(le.asFresh, le.state()); diff != "" {
				t.Fatalf("round %d: it is not as it was:\n%s", round, diff)
			}
		}
		t.Logf("ways: %v", ways)
	})
}

// TestPreparedAndGone leaves prepared transactions behind and resets at once, connected or
// not: their locks must be gone, although InnoDB lets go of them later than the server of
// the connection.
func TestPreparedAndGone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		for n := range 60 {
			conn := le.do("XA START 'x'\nDELETE FROM visit\nXA END 'x'\nXA PREPARE 'x'")
			if n%2 == 0 {
				if err := conn.Raw(func(c any) error { return c.(interface{ Close() error }).Close() }); err != nil {
					t.Log(err)
				}
			}
			if _, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
				t.Fatalf("round %d: %v", n, err)
			}
			conn.Close()
			le.do("SET innodb_lock_wait_timeout = 1\nUPDATE visit SET who = who + 100\nUPDATE visit SET who = who - 100").Close()
		}
	})
}
