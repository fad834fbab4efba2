package sys

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestCopyWhole copies files about as large as those that share no blocks, with holes and without:
// they are the same, and take room where they share none.
func TestCopyWhole(t *testing.T) {
	const apart = 1 << 20
	for fsName, dir := range liveDirs(t) {
		t.Run(fsName, func(t *testing.T) {
			avail := func() int64 {
				t.Helper()
				if err := SyncFS(dir); err != nil {
					t.Fatal(err)
				}
				fs, err := Statfs(dir)
				if err != nil {
					t.Fatal(err)
				}
				return fs.Avail
			}
			for _, tc := range []struct {
				name string
				size int
				hole bool
				room int64 // that a copy takes at least if blocks can be shared
			}{
				{"nothing", 0, false, 0},
				{"exactly", apart, false, apart},
				{"one more", apart + 1, false, 0},
				{"with a hole", apart, true, apart / 2},
				{"one more, with a hole", apart + 1, true, 0},
			} {
				text := bytes.Repeat([]byte("0123456789abcdef"), tc.size/16+1)[:tc.size]
				src, dst := filepath.Join(dir, tc.name), filepath.Join(dir, tc.name+", copied")
				if err := os.WriteFile(src, text, 0o600); err != nil {
					t.Fatal(err)
				}
				if tc.hole {
					f, err := os.OpenFile(src, os.O_WRONLY, 0)
					if err == nil {
						err = errors.Join(PunchHole(int(f.Fd()), apart/4, apart/2), f.Close())
					}
					if err != nil {
						t.Fatal(err)
					}
					clear(text[apart/4 : apart/4*3])
				}
				before := avail()
				to, err := OpenDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				in, err := OpenIn(dir, tc.name)
				if err != nil {
					t.Fatal(err)
				}
				err = CopyWhole(t.Context(), to, filepath.Base(dst), in, apart, func(f *os.File) error {
					if _, err := os.Lstat(dst); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("%s: it is there before it is finished", tc.name)
					}
					return nil
				})
				if err = errors.Join(err, in.Close(), to.Close()); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(dst); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s: the copy is another (%v)", tc.name, err)
				}
				const metadata = 256 << 10
				if took := before - avail(); fsName == "xfs" && (took < tc.room || took > tc.room+metadata) {
					t.Errorf("%s: the copy took %d bytes, not %d", tc.name, took, tc.room)
				}
			}
		})
	}
}
