package supervisor

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestWhenFullComesFirst: what --when-full asks for is done before servers are made read-only, the move first, and not
// while there is much room, however the volume fills: by the instance itself, or by others.
func TestWhenFullComesFirst(t *testing.T) {
	o := &volume.Opener{}
	for _, kind := range []volume.Kind{volume.Shm, volume.Tmpfs, volume.XFS, volume.Ramfs} {
		v := o.In(volume.Spec{Kind: kind}, t.TempDir())
		for _, size := range []int64{512 << 20, 4 << 30, 64 << 30} {
			for _, others := range []bool{false, true} {
				moved, stopped := int64(-1), int64(-1)
				for free := size; free > 0; free -= size / 1000 {
					u := volume.Usage{Size: size, Free: free, Used: size - free, Bound: volume.ByLimit}
					if others {
						u.Used = size / 20
					}
					if moved < 0 && moveSoon(v, u) {
						moved = free
					}
					if stopped < 0 && stopSoon(v, u) {
						stopped = free
					}
					if free < brakeRoom(v, u) {
						if moved < 0 || stopped < 0 {
							t.Errorf("%s of %d: with %d free the server is made read-only first (moved at %d, stopped at %d)", kind, size, free, moved, stopped)
						}
						break
					}
				}
				if stopped > moved || moved > size*2/3 {
					t.Errorf("%s of %d, filled by others %v: moved with %d free, stopped with %d", kind, size, others, moved, stopped)
				}
			}
		}
	}
}
