package pool_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// BenchmarkReset resets a lease that nothing happened to: what is left is the cost of the pool and
// of the questions that a reset asks the server.
func BenchmarkReset(b *testing.B) {
	h := newHouse(b, servertest.Servers[0])
	h.limit(64, 0)
	h.put("shop")
	l, _ := h.lease(pool.Request{Template: "shop"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Reset(b.Context(), l.Name, reset.RestoreCounters); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLease takes a database and gives it back.
func BenchmarkLease(b *testing.B) {
	h := newHouse(b, servertest.Servers[0])
	h.limit(64, 2)
	h.put("shop")
	b.ReportAllocs()
	for b.Loop() {
		l, err := h.NewDatabase(b.Context(), pool.Request{Template: "shop"})
		if err == nil {
			err = h.Drop(b.Context(), l.Name)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
