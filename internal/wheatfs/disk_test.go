package wheatfs

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestDisk: what lies on the disk is found again across its files, and a hole takes what it should and nothing else.
func TestDisk(t *testing.T) {
	const size = 5 * lanes * laneSize / 2
	d, err := openDisk(t.TempDir(), size)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const grain = laneSize / 4
	both := make([]byte, 32*BlockSize) // so much begins at a block
	block, got := both[:BlockSize], both[BlockSize:2*BlockSize]
	// One block in each quarter of a turn.
	write := func(n int) {
		fill(block, int64(n+1))
		if err := d.write(block, int64(n)*grain); err != nil {
			t.Fatal(err)
		}
	}
	for n := range size / grain {
		write(n)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		from := r.IntN(size / grain)
		n := 1 + r.IntN(size/grain-from)
		d.dig(int64(from)*grain, int64(n)*grain, allLanes)
		for k := range size / grain {
			if err := d.read(got, int64(k)*grain); err != nil {
				t.Fatal(err)
			}
			if k >= from && k < from+n {
				clear(block)
			} else {
				fill(block, int64(k+1))
			}
			if !bytes.Equal(got, block) {
				t.Fatalf("hole of %d at %d: block %d is wrong", n, from, k)
			}
		}
		for k := from; k < from+n; k++ {
			write(k)
		}
	}
}
