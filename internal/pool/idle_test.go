package pool_test

import (
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestIdle: spare clones go some time after the last lease, stay while there is one, and come back
// with the next.
func TestIdle(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.Close()
		h.config.Idle = time.Nanosecond
		h.open()
		h.limit(64, 2)
		h.put("shop")
		lease, _ := h.lease(pool.Request{Template: "shop"})
		h.stocked(2)
		h.Maintain()
		time.Sleep(50 * time.Millisecond)
		h.Maintain()
		if got := h.Templates(); got[0].Spare != 2 {
			t.Errorf("%d spare clones while one is in use, want 2", got[0].Spare)
		}
		if err := h.Drop(t.Context(), lease.Name); err != nil {
			t.Fatal(err)
		}
		h.stocked(0)
		h.soon("no databases of spare clones", func() bool { return len(h.databases("shop_")) == 0 })
		h.lease(pool.Request{Template: "shop"})
		h.stocked(2)
	})
}
