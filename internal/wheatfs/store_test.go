package wheatfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const mb = 1 << 20

// newStore makes a store whose disk is a directory of the test's.
func newStore(t testing.TB, size, most int64) *Store {
	t.Helper()
	s, err := NewStore(size, most, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// check compares a store with what it is to hold.
func check(t *testing.T, s *Store, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := s.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(want); at += BlockSize {
		if !bytes.Equal(got[at:at+BlockSize], want[at:at+BlockSize]) {
			t.Fatalf("block %d of chunk %d differs", at%ChunkSize/BlockSize, at/ChunkSize)
		}
	}
	// What it counts, once more.
	var ram, slack, disk int64
	for i := range s.chunks {
		c := &s.chunks[i]
		for w := range c.ram {
			if both := c.ram[w].Load() & c.disk[w].Load(); both != 0 {
				t.Errorf("blocks %x of chunk %d have two places", both, i)
			}
		}
		inRAM := c.ram.count(0, chunkBlocks)
		ram += int64(inRAM) * BlockSize
		if c.isHuge.Load() {
			slack += int64(chunkBlocks-inRAM) * BlockSize
		}
		disk += int64(c.disk.count(0, chunkBlocks)) * BlockSize
	}
	if u := s.Usage(); u.RAM != ram || u.Slack != slack || u.Disk != disk {
		t.Errorf("%+v, and there are %d bytes in RAM, %d of slack and %d on the disk", u, ram, slack, disk)
	}
}

// shrink sets a budget, and moves what is over it.
func shrink(t *testing.T, s *Store, budget int64) {
	t.Helper()
	s.SetBudget(budget)
	if err := s.Tidy(); err != nil {
		t.Error(err)
	}
	if err := s.Evict(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStoreAtRandom: several write, discard and read, each in a part of its own that shares chunks with those of
// others, while the budget changes; a plain piece of memory has the same in the end.
func TestStoreAtRandom(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			const size, users = 24 * mb, 4
			s, twin := newStore(t, size, 12*mb), make([]byte, size)
			if seed%2 > 0 {
				s.SetReady(1 << 40)
			}
			var group, budget sync.WaitGroup
			done := make(chan struct{})
			budget.Go(func() {
				r := rand.New(rand.NewPCG(seed, users))
				for {
					select {
					case <-done:
						return
					default:
					}
					shrink(t, s, r.Int64N(16*mb))
					time.Sleep(time.Millisecond)
				}
			})
			for user := range users {
				// Parts of a chunk, and chunks: their ends are not those of chunks.
				first := user * size / users
				if user > 0 {
					first -= 3 * BlockSize
				}
				last := (user + 1) * size / users
				if user < users-1 {
					last -= 3 * BlockSize
				}
				group.Go(func() { use(t, s, twin, first, last-first, rand.New(rand.NewPCG(seed, uint64(user)))) })
			}
			group.Wait()
			close(done)
			budget.Wait()
			check(t, s, twin)
			if err := s.Discard(0, size); err != nil {
				t.Error(err)
			}
			check(t, s, make([]byte, size))
			if u := s.Usage(); u.RAM+u.Disk != 0 {
				t.Errorf("%+v of an empty store", u)
			}
		})
	}
}

// use makes random changes to size bytes from at on of both. Blocks are nobody else's.
func use(t *testing.T, s *Store, twin []byte, at, size int, r *rand.Rand) {
	for range 300 {
		n := 1 + r.IntN(1<<r.IntN(10))
		n = min(n, size/BlockSize)
		off := at + r.IntN(size/BlockSize-n+1)*BlockSize
		n *= BlockSize
		part := twin[off : off+n]
		switch r.IntN(5) {
		case 0:
			clear(part)
			if err := s.Discard(int64(off), int64(n)); err != nil {
				t.Error(err)
			}
		case 1, 2:
			b := make([]byte, n)
			if _, err := s.ReadAt(b, int64(off)); err != nil || !bytes.Equal(b, part) {
				t.Errorf("%d bytes at %d: they differ, or %v", n, off, err)
				return
			}
			var v View
			if s.View(&v, int64(off), int64(n)) {
				if !bytes.Equal(bytes.Join(v.Parts, nil), part) {
					t.Errorf("%d bytes at %d: they are seen otherwise", n, off)
				}
				v.Close()
			}
		default:
			copy(part, bytes.Repeat([]byte{byte(1 + r.IntN(255)), byte(r.Uint32()), byte(r.Uint32())}, n/3+1))
			if _, err := s.WriteAt(part, int64(off)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestStorePlaces: the first that are written lie in RAM, the next on the disk, and what is discarded makes room.
func TestStorePlaces(t *testing.T) {
	const chunks = 4
	s := newStore(t, 10*ChunkSize, chunks*4*BlockSize)
	want := func(ram, disk int64) {
		t.Helper()
		if u := s.Usage(); u.RAM != ram*BlockSize || u.Disk != disk*BlockSize {
			t.Errorf("%+v, want %d and %d blocks", u, ram, disk)
		}
	}
	// Four blocks of each chunk.
	write := func(first, n int64) {
		t.Helper()
		for i := range n {
			if _, err := s.WriteAt(bytes.Repeat([]byte("data"), BlockSize), (first+i)*ChunkSize); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(2, 6)
	want(16, 8)
	if err := s.Discard(2*ChunkSize, 2*BlockSize); err != nil {
		t.Fatal(err)
	}
	want(14, 8)
	write(2, 1)
	want(16, 8)
	if err := s.Discard(2*ChunkSize, ChunkSize); err != nil {
		t.Fatal(err)
	}
	want(12, 8)
	write(7, 1) // whole blocks: they come back, since there is room
	want(16, 4)
	shrink(t, s, 8*BlockSize)
	want(8, 12)
	s.SetBudget(100 * mb)
	want(8, 12)
	write(0, 1)
	want(12, 12)
	if u := s.Usage(); u.Budget != 100*mb || u.Evicted != 8*BlockSize {
		t.Errorf("%+v", u)
	}
	for _, c := range [][2]int64{{s.Size() - BlockSize, 2 * BlockSize}, {1, BlockSize}, {0, 1}, {-BlockSize, BlockSize}} {
		if _, err := s.WriteAt(make([]byte, c[1]), c[0]); !errors.Is(err, errRange) {
			t.Errorf("%v: %v", c, err)
		}
		if s.View(new(View), c[0], c[1]) {
			t.Errorf("%v can be seen", c)
		}
	}
}

// TestStoreGivesBack: memory goes back to the machine at once, block by block, and so does the disk.
func TestStoreGivesBack(t *testing.T) {
	const size = 128 * mb
	s := newStore(t, size, size/2)
	data := bytes.Repeat([]byte{1}, size)
	before := resident(t)
	if _, err := s.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	full := resident(t)
	if full-before < size/2-4*mb {
		t.Fatalf("%d MB, %d before: it holds nothing in RAM", full>>20, before>>20)
	}
	for at := int64(0); at < size/2+8*mb; at += 2 * BlockSize { // every second block, of which 8 MB lie on the disk
		if err := s.Discard(at, BlockSize); err != nil {
			t.Fatal(err)
		}
	}
	if half := resident(t); full-half < size/4-4*mb {
		t.Errorf("%d MB of %d are left when a half has gone", half>>20, full>>20)
	}
	if err := s.Discard(0, size); err != nil {
		t.Fatal(err)
	}
	if none := resident(t); none-before > 4*mb {
		t.Errorf("%d MB are left, and %d were there before", none>>20, before>>20)
	}
	runtime.KeepAlive(data)
	check(t, s, make([]byte, size))
}

// resident is how much memory this process has, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory() // what is Go's must not change meanwhile
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * int64(os.Getpagesize())
}

// TestStoreWithoutDisk: where the disk takes nothing, what is in RAM stays there and stays right.
func TestStoreWithoutDisk(t *testing.T) {
	s := newStore(t, 4*mb, 2*mb)
	spoil(t, s)
	data := bytes.Repeat([]byte("wheat..."), 2*mb/8)
	if _, err := s.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteAt(data[:BlockSize], 3*mb); err == nil {
		t.Error("it was written to a disk that takes nothing")
	}
	s.SetBudget(mb)
	if err := s.Evict(t.Context()); err == nil {
		t.Error("it was moved there")
	}
	got := make([]byte, len(data))
	if _, err := s.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("what was in RAM has gone: %v", err)
	}
}

// spoil has the disk of a store take nothing.
func spoil(t *testing.T, s *Store) {
	t.Helper()
	for i := range s.disk {
		file, err := os.Open(os.DevNull) // for reading
		if err != nil {
			t.Fatal(err)
		}
		file, s.disk[i].file = s.disk[i].file, file
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNewStoreRefuses(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {ChunkSize + 1, 0}, {ChunkSize, -1}} {
		if _, err := NewStore(c[0], c[1], ""); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	for _, place := range []struct {
		name string
		most int64
		huge int64
	}{{"ram", 256 * mb, 0}, {"huge", 256 * mb, 1 << 40}, {"disk", 0, 0}} {
		for _, n := range []int{16 << 10, mb} {
			s := newStore(b, 256*mb, place.most)
			s.SetReady(place.huge)
			data := bytes.Repeat([]byte{1}, n)
			for _, op := range []struct {
				name string
				do   func([]byte, int64) (int, error)
			}{{"write", s.WriteAt}, {"read", s.ReadAt}} {
				b.Run(fmt.Sprintf("%s/%s/%d", place.name, op.name, n), func(b *testing.B) {
					b.SetBytes(int64(n))
					for i := 0; b.Loop(); i++ {
						if _, err := op.do(data, int64(i)*int64(n)%(256*mb)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
