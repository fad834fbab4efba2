package pool_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestRoom has room become short and come back: spare clones go and come with it, and are not
// made and removed by turns where it is just short.
func TestRoom(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.Close()
		var room atomic.Int64
		room.Store(1 << 40)
		h.config.Room = func() (int64, error) {
			n := room.Load()
			if n < 0 {
				return 0, errors.New("nobody knows")
			}
			return n, nil
		}
		h.open()
		h.limit(64, 2)
		h.put("shop")
		h.stocked(2)
		clone := h.Templates()[0].Bytes
		if clone == 0 {
			t.Fatal("the template has no size")
		}
		for _, step := range []struct {
			what        string
			room        int64
			want, still int // how many there are in the end, and are not fewer than before that
		}{
			{"nobody knows how much there is", -1, 2, 2},
			{"less than for one more, but for those that are there", 15 * clone, 2, 2},
			{"none", 0, 0, 0},
			{"just not enough for one", 16*clone - 1, 0, 0},
			{"enough for one", 16 * clone, 1, 0},
			{"what that one has left", 15 * clone, 1, 1},
			{"enough for all", 1 << 40, 2, 1},
		} {
			room.Store(step.room)
			for range 2 {
				h.Tend()
				if n := h.Templates()[0].Spare; n < step.still || n > max(step.want, step.still) {
					t.Errorf("room: %s: %d spare clones, not %d", step.what, n, step.want)
				}
			}
			h.stocked(step.want)
			h.soon("as many databases", func() bool { return len(h.databases("shop_")) == step.want })
		}
	})
}
