package front

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// returns takes leases back after some attempts at which the server does not run.
type returns struct {
	Pool
	now   client.Database
	fails int
	calls []string
}

func (r *returns) Database(context.Context, string) (client.Database, error) {
	if r.fails--; r.fails >= 0 {
		return client.Database{}, fmt.Errorf("ask: %w", client.ErrNoServer)
	}
	return r.now, nil
}

func (r *returns) DropDatabase(_ context.Context, name string) error {
	r.calls = append(r.calls, name)
	if len(r.calls) == 1 {
		return errors.New("invalid connection") // of a server that dies
	}
	return nil
}

// TestGiveBack: a lease is given back once the server runs, and never one that the name has from another instance.
func TestGiveBack(t *testing.T) {
	lease := client.Database{Name: "shop_1", User: "lease_1"}
	for _, c := range []struct {
		name  string
		now   client.Database
		drops int
	}{
		{"its own", lease, 2},
		{"kept", client.Database{Name: "shop_1", User: "lease_1", Kept: true}, 0},
		{"another's", client.Database{Name: "shop_1", User: "lease_2"}, 0},
	} {
		pool := &returns{now: c.now, fails: 2}
		s := seats{pool: pool, closing: make(chan struct{})}
		if err := s.giveBack(lease); err != nil || len(pool.calls) != c.drops || pool.fails >= 0 {
			t.Errorf("%s: %v, %d attempts to drop it, want %d", c.name, err, len(pool.calls), c.drops)
		}
	}
	s := seats{pool: &returns{fails: 100}, closing: make(chan struct{})}
	close(s.closing)
	if err := s.giveBack(lease); !unavailable(err) {
		t.Errorf("a door that closes waits for the server: %v", err)
	}
}
