package reset_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestHammer uses eight leases at once, each with a session of its own that puts it back.
func TestHammer(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		seed := seeds(t)[0]
		flavour := servertest.Find(t, want).Flavour
		schema := newWalkSchema(rand.New(rand.NewPCG(seed, 3)), flavour) // #nosec G404 -- to be repeated
		l := newLab(t, want, "random", schema.text)
		l.Leased = func(user string) bool { return strings.HasPrefix(user, "u_random_") } // as the pool tells
		leases := make([]*lease, 8)
		for i := range leases {
			leases[i] = l.lease(fmt.Sprintf("random_%d", i))
		}
		var wait sync.WaitGroup
		var mu sync.Mutex
		steps, resets := 0, 0
		end := time.Now().Add(duration(t, envHammer, usualPace()))
		for i, le := range leases {
			session := l.newSession()
			wait.Go(func() {
				// A seed is not enough to repeat this: the server's threads are not ours.
				m := &walkMoves{Rand: rand.New(rand.NewPCG(seed, uint64(i))), schema: &schema, flavour: flavour} // #nosec G404
				ctx := context.WithoutCancel(t.Context())
				for time.Now().Before(end) {
					n := m.IntN(10)
					for range n {
						text := m.dml()
						if m.IntN(15) == 0 {
							text = m.ddl()
						}
						_, _ = le.pool.ExecContext(ctx, text) // some fail
					}
					if _, err := le.Reset(ctx, session, &le.Database, reset.RestoreCounters); err != nil {
						t.Errorf("%s: %v", le.Name, err)
						return
					}
					mu.Lock()
					steps, resets = steps+n, resets+1
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		t.Logf("%d statements, %d resets", steps, resets)
		for _, le := range leases {
			le.t = t
			if diff := differences(le.asFresh, le.state()); diff != "" {
				t.Errorf("%s is not as it was:\n%s", le.Name, diff)
			}
			le.check()
		}
	})
}
