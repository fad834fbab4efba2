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
		s.leave(sit(fmt.Sprintf("shop@%d", n)), false)
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
		s.leave(p, false)
	}()
	s.leave(b, false)
	for range 20 {
		time.Sleep(releasePause / 10)
		if again := sit("shop@a"); again != a {
			t.Fatal("a name that is in use got another clone")
		}
		s.leave(a, false)
	}
	<-over
	b = sit("shop@b")
	time.AfterFunc(50*time.Millisecond, func() { s.leave(a, false) }) // while another waits
	s.leave(sit("shop@c"), false)
	s.leave(b, false)
	s.close()
}

// TestHushed: who comes by the name of those that say nothing more, as one that was killed, finds the template.
func TestHushed(t *testing.T) {
	pool := &bounded{free: make(chan struct{}, 9)}
	for range 4 {
		pool.free <- struct{}{}
	}
	const linger = 20 * time.Millisecond
	s := seats{pool: pool, linger: linger, byName: map[string]*seat{}, all: map[*seat]struct{}{}, closing: make(chan struct{}), warn: func(text string, err error) { t.Error(text, err) }}
	sit := func() *seat {
		t.Helper()
		p, err := s.sit(t.Context(), "shop@1")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := sit()
	if sit() != a {
		t.Fatal("two of a name have two clones")
	}
	s.hush(a)
	time.Sleep(5 * linger)
	if sit() != a { // there is one that goes on
		t.Fatal("a name with a connection that goes on gets another clone")
	}
	s.hush(a)
	s.hush(a)
	if sit() != a { // it comes at once, as from the same run
		t.Fatal("a name that reconnects gets another clone")
	}
	s.leave(a, false)
	time.Sleep(5 * linger)
	b := sit()
	if b == a {
		t.Error("another run is in the clone of connections that say nothing more")
	}
	for range 3 {
		s.leave(a, true)
	}
	s.leave(b, false)
	s.close()
	if len(pool.gone) != 2 {
		t.Errorf("%v are given back, want both", pool.gone)
	}
}
