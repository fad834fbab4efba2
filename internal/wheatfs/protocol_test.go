package wheatfs

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestDirect: direct reads and writes of all sizes from memory that begins anywhere a disk lets it: requests that the
// kernel makes of them are whole blocks.
func TestDirect(t *testing.T) {
	_, dir := newFS(t, options(t.TempDir()))
	file, err := os.OpenFile(filepath.Join(dir, "direct"), os.O_RDWR|os.O_CREATE|syscall.O_DIRECT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const size = 24 * mb
	arena, err := sys.NewArena(2*size + BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Close()
	r := rand.New(rand.NewPCG(3, 3))
	twin := make([]byte, size)
	for n := range 60 {
		memory := arena.Bytes()[r.IntN(BlockSize/512)*512:]
		length := BlockSize * (1 + r.IntN(1<<r.IntN(13)))
		off := r.IntN((size-length)/BlockSize+1) * BlockSize
		part := memory[:length]
		fill(part[:length/16*16], int64(n))
		copy(twin[off:], part)
		if _, err := file.WriteAt(part, int64(off)); err != nil {
			t.Fatalf("write %d of %d at %d: %v", n, length, off, err)
		}
		got := memory[size:][:length]
		if _, err := file.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, part) {
			t.Fatalf("read %d of %d at %d: it differs, or %v", n, length, off, err)
		}
	}
	whole := arena.Bytes()[512:][:size]
	n, err := file.ReadAt(whole, 0)
	if err != nil && n == 0 {
		t.Fatal(err)
	}
	if !bytes.Equal(whole[:n], twin[:n]) {
		t.Error("the file differs")
	}
}
