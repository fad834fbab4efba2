package sys

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// liveSeeds is how many sequences of random changes are copied on each file system.
const liveSeeds = 40

// liveDirs are directories in RAM that tests copy in: tmpfs, and as root XFS.
func liveDirs(t *testing.T) map[string]string {
	t.Helper()
	shm := dirs(t)["shm"]
	all := map[string]string{"tmpfs": shm}
	if os.Geteuid() != 0 {
		t.Log("SKIPPED, UNTESTED: mounting XFS takes root")
		return all
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Log("SKIPPED, UNTESTED: no mkfs.xfs here")
		return all
	}
	image, at := filepath.Join(shm, "ramaria-test.xfs"), t.TempDir()
	out, err := exec.Command("sh", "-c", `truncate -s 400M "$0" && mkfs.xfs -q "$0" && mount -o loop "$0" "$1"`, image, at).CombinedOutput()
	if err != nil {
		t.Fatalf("make XFS: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", at, err, out)
		}
	})
	all["xfs"] = at
	return all
}

// TestLiveCopyFollows changes a directory at random beside and between the rounds.
func TestLiveCopyFollows(t *testing.T) {
	t.Parallel() // it rests
	for fsName, dir := range liveDirs(t) {
		t.Run(fsName, func(t *testing.T) {
			t.Parallel()
			srcs := make([]string, liveSeeds)
			for seed := range srcs {
				srcs[seed] = filepath.Join(dir, fmt.Sprint("src", seed))
				makeLive(t, srcs[seed], uint64(seed))
			}
			rest() // so that most files are passed over
			for seed, src := range srcs {
				if diff := followLive(t, src, uint64(seed), fsName == "tmpfs", false); diff != "" {
					t.Errorf("seed %d (-CopyTree +LiveCopy):\n%s", seed, diff)
				}
				if diff := followLive(t, src, uint64(seed+liveSeeds), false, true); diff != "" {
					t.Errorf("seed %d, by differences (-CopyTree +LiveCopy):\n%s", seed, diff)
				}
			}
		})
	}
}

func followLive(t *testing.T, src string, seed uint64, holes, differences bool) string {
	t.Helper()
	dst := src + ".live"
	if differences {
		dst += "-differences"
	}
	live := NewLiveCopy(src, dst, nil)
	if differences {
		live.Differences()
	}
	live.stepBeside = 64 << 10    // most files in several steps
	change := func(part uint64) { // of one goroutine
		m := &mutator{src, rand.New(rand.NewPCG(seed, part))} // #nosec G404 -- no secret
		for range 30 {
			m.change()
		}
	}
	const beside = 3
	for part := range uint64(beside) {
		var group sync.WaitGroup
		group.Go(func() { change(part) })
		err := live.Round(t.Context())
		group.Wait()
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", seed, part+1, err)
		}
		if part%2 == 1 {
			change(beside + part)
		}
	}
	if err := errors.Join(live.LastRound(t.Context()), live.Done()); err != nil {
		t.Fatal(err)
	}
	return sameCopies(t, src, dst, holes)
}

func makeLive(t *testing.T, src string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 99)) // #nosec G404 -- no secret
	for _, d := range liveNames[:3] {
		if err := os.MkdirAll(filepath.Join(src, d), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range liveNames {
			// Some are large enough for a copier of their own.
			if err := os.WriteFile(filepath.Join(src, d, "f"+f), fill(r, 1+r.IntN(inlineSize+100<<10)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func fill(r *rand.Rand, n int) []byte {
	return bytes.Repeat([]byte{byte(r.IntN(256)), byte(r.IntN(256)), 0}, n/3+1)[:n]
}

var liveNames = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

// mutator makes random changes below src. Those that make no sense do nothing.
type mutator struct {
	src string
	r   *rand.Rand
}

// path is a name, mostly in a directory.
func (m *mutator) path() string {
	d, f := liveNames[m.r.IntN(4)], liveNames[m.r.IntN(len(liveNames))]
	if m.r.IntN(8) == 0 {
		return filepath.Join(m.src, d)
	}
	return filepath.Join(m.src, d, "f"+f)
}

func (m *mutator) change() {
	path := m.path()
	switch m.r.IntN(12) {
	case 0:
		_ = os.WriteFile(path, fill(m.r, m.r.IntN(400<<10)), 0o600)
	case 1:
		_ = os.RemoveAll(path)
	case 2:
		_ = os.Rename(path, m.path())
	case 3:
		_ = os.Truncate(path, int64(m.r.IntN(300<<10)))
	case 4, 5, 6:
		m.writeAt(path)
	case 7:
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_ = PunchHole(int(f.Fd()), int64(m.r.IntN(20))*4096, int64(1+m.r.IntN(20))*4096)
			f.Close()
		}
	case 8:
		_ = os.Chmod(path, []os.FileMode{0o700, 0o750, 0o777}[m.r.IntN(3)])
	case 9:
		_ = os.Symlink(liveNames[m.r.IntN(len(liveNames))], path)
	case 10: // of another kind, maybe with the same inode
		_ = os.RemoveAll(path)
		_ = os.Mkdir(path, 0o700)
		_ = os.WriteFile(filepath.Join(path, "new"), fill(m.r, 100), 0o600)
	case 11: // away and back
		away := filepath.Join(m.src, "away")
		_ = os.Rename(path, away)
		time.Sleep(time.Duration(m.r.IntN(300)) * time.Microsecond)
		_ = os.Rename(away, path)
	}
}

func (m *mutator) writeAt(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteAt(fill(m.r, 1+m.r.IntN(20<<10)), int64(m.r.IntN(500<<10)))
	f.Close()
}
