package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLiveCopyDifferences: of a file that has changed the parts that have are written, and no others, which the test
// can see by a copy that it has spoilt elsewhere.
func TestLiveCopyDifferences(t *testing.T) {
	t.Parallel()
	dir := dirs(t)["shm"]
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	if err := os.Mkdir(src, 0o700); err != nil {
		t.Fatal(err)
	}
	const parts = 40
	file, copied := filepath.Join(src, "t.ibd"), filepath.Join(dst, "t.ibd")
	want := bytes.Repeat([]byte("0123456789abcdef"), parts*sumPart/16)
	want = append(want, "a tail"...)
	write := func(path string, at int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(text), int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	write(file, 0, string(want))
	live := NewLiveCopy(src, dst, nil)
	live.Differences()
	live.noClone.Store(true) // on a file system that could share
	rounds(t, live, 1)
	compare := func(when string) {
		t.Helper()
		got, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the copy differs", when)
		}
	}
	compare("at first")

	write(file, 3*sumPart+5, "changed")
	copy(want[3*sumPart+5:], "changed")
	write(copied, 7*sumPart, "spoilt")
	copy(want[7*sumPart:], "spoilt")
	rounds(t, live, 1)
	compare("after a change of one part")

	// A part that becomes a hole, and a file that becomes shorter and longer again.
	if err := os.Truncate(file, 9*sumPart+100); err != nil {
		t.Fatal(err)
	}
	rounds(t, live, 1)
	if err := os.Truncate(file, 20*sumPart); err != nil {
		t.Fatal(err)
	}
	want = append(want[:9*sumPart+100], make([]byte, 11*sumPart-100)...)
	rounds(t, live, 1)
	compare("after it became shorter and longer")
}
