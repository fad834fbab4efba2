package wheatfs

import (
	"bytes"
	"math/rand/v2"
	"syscall"
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
		kept := from + r.IntN(n) // is written again at once
		write(kept)
		d.settle()
		for k := range size / grain {
			if err := d.read(got, int64(k)*grain); err != nil {
				t.Fatal(err)
			}
			if k >= from && k < from+n && k != kept {
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

// TestDiskGivesBack: what is dug is room on the disk again, and a disk that is closed meanwhile waits for one hole, not for all.
func TestDiskGivesBack(t *testing.T) {
	d, err := openDisk(t.TempDir(), 512*mb)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, mb)
	for n := range int64(128) {
		if err := d.write(data, n*mb); err != nil {
			t.Fatal(err)
		}
	}
	takes := func() (n int64) {
		for i := range d {
			fi, err := d[i].file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			n += fi.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return n
	}
	if n := takes(); n < 128*mb {
		t.Fatalf("%d MB are on the disk", n>>20)
	}
	d.dig(0, 64*mb, 1<<3)
	d.settle()
	if n := takes(); n > 120*mb+mb || n < 119*mb {
		t.Errorf("%d MB are left when one of eight files has given back its half", n>>20)
	}
	for range 3 * mostHoles {
		d.dig(0, 512*mb, allLanes)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
