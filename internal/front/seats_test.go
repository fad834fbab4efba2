package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

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

// bounded is a pool of few clones.
type bounded struct {
	Pool
	mu   sync.Mutex
	free chan struct{}
	gone []string
	made int
}

func (b *bounded) NewDatabase(_ context.Context, r client.DatabaseRequest) (client.Database, error) {
	select {
	case <-b.free:
	case <-time.After(time.Duration(r.WaitSeconds * float64(time.Second))):
		return client.Database{}, &client.Error{Code: client.CodeFull}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return client.Database{Name: fmt.Sprintf("shop_%d", b.made), User: "u"}, nil
}

func (b *bounded) Database(_ context.Context, name string) (client.Database, error) {
	return client.Database{Name: name, User: "u"}, nil
}

func (b *bounded) DropDatabase(_ context.Context, name string) error {
	b.mu.Lock()
	b.gone = append(b.gone, name)
	b.mu.Unlock()
	b.free <- struct{}{}
	return nil
}

// TestLingeringMakesWay: a clone that only lingers is not taken, as far as others are concerned; the longest idle goes first.
func TestLingeringMakesWay(t *testing.T) {
	pool := &bounded{free: make(chan struct{}, 2)}
	pool.free <- struct{}{}
	pool.free <- struct{}{}
	s := seats{pool: pool, linger: time.Minute, byName: map[string]*seat{}, all: map[*seat]struct{}{}, closing: make(chan struct{}), warn: func(text string, err error) { t.Error(text, err) }}
	sit := func(name string) *seat {
		t.Helper()
		p, err := s.sit(t.Context(), name) // after leaseWait there is none
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return p
	}
	for n := range 12 { // one after the other, as tests that each have a name
		s.leave(sit(fmt.Sprintf("shop@%d", n)))
	}
	if want := []string{"shop_1", "shop_2", "shop_3"}; !slices.Equal(pool.gone[:3], want) {
		t.Errorf("the first to make way are %v, want %v", pool.gone[:3], want)
	}
	// One test's connections follow each other at once: its clone stays, whoever waits for one.
	a, b := sit("shop@a"), sit("shop@b")
	over := make(chan struct{})
	go func() {
		defer close(over)
		p, err := s.sit(t.Context(), "shop@waits")
		if err != nil {
			t.Error(err)
			return
		}
		s.leave(p)
	}()
	s.leave(b)
	for range 20 {
		time.Sleep(releasePause / 10)
		if again := sit("shop@a"); again != a {
			t.Fatal("a name that is in use got another clone")
		}
		s.leave(a)
	}
	<-over
	b = sit("shop@b")
	time.AfterFunc(50*time.Millisecond, func() { s.leave(a) }) // while another waits
	s.leave(sit("shop@c"))
	s.leave(b)
	s.close()
}
