package durable

import "testing"

// TestLowRoom: a disk of any size has its history shortened when there is little room, and not before.
func TestLowRoom(t *testing.T) {
	const gb = 1 << 30
	for size, want := range map[int64]int64{gb: gb / 4, 10 * gb: gb, 40 * gb: 2 * gb, 250 * gb: 10 * gb, 4096 * gb: 10 * gb} {
		if got := LowRoom(size); got != want {
			t.Errorf("of %d GB: %d MB, want %d", size/gb, got>>20, want>>20)
		}
	}
}
