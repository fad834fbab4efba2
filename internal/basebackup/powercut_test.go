package basebackup_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
	"github.com/ramaria-db/ramaria/internal/basebackup"
)

var cuts = flag.Int("cuts", 0, "in how many histories TestPowerCuts cuts the power; 0 for 600, or 100 in a quick run")

// bases is an archive as its one user has it, over several lives.
type bases struct {
	t   *testing.T
	m   *archivetest.Model
	dir string
	// written are those that Write has returned for, and that were not given up, as they were.
	written map[uint32]map[string]string
	last    uint32 // id that was tried
}

// check reads all bases, as after a restart.
func (b *bases) check() (all []*basebackup.Index, err error) {
	for _, id := range slices.Sorted(maps.Keys(b.written)) {
		x, err := basebackup.ReadIndex(b.m, testID, id)
		if err != nil {
			return nil, err
		}
		to, err := os.MkdirTemp(b.t.TempDir(), "")
		if err != nil {
			return nil, err
		}
		if err := basebackup.Restore(b.t.Context(), b.m, x, to, nil); err != nil {
			return nil, err
		}
		if got := tree(b.t, to, nil); !maps.Equal(got, b.written[id]) {
			return nil, fmt.Errorf("base %d is not what was written", id)
		}
		if err := os.RemoveAll(to); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// live goes on until the power is cut.
func (b *bases) live() error {
	all, err := b.check()
	if err != nil {
		return err
	}
	if err := b.again(func() error { return basebackup.Remove(b.m, all) }); err != nil {
		return err
	}
	if err := b.onlyThose(all); err != nil {
		return err
	}
	for {
		if len(all) > 0 && b.m.Rand.IntN(3) == 0 {
			k := b.m.Rand.IntN(len(all))
			delete(b.written, all[k].ID()) // the manifest does not name it any more
			all = slices.Delete(all, k, k+1)
			if err := b.again(func() error { return basebackup.Remove(b.m, all) }); err != nil {
				return err
			}
			continue
		}
		b.change()
		var prev *basebackup.Index
		if len(all) > 0 && b.m.Rand.IntN(4) > 0 {
			prev = all[len(all)-1]
		}
		if b.m.Rand.IntN(3) > 0 || len(all) > 0 && all[len(all)-1].ID() == b.last {
			b.last++ // or that of one that has failed, once more
		}
		var x *basebackup.Index
		if err := b.again(func() (err error) {
			x, _, err = basebackup.Write(b.t.Context(), b.m, testID, max(b.last, 1), b.dir, prev, nil)
			return err
		}); err != nil {
			return err
		}
		b.last = x.ID()
		b.written[x.ID()] = tree(b.t, b.dir, nil)
		all = append(all, x)
	}
}

// onlyThose: nothing is left of what was cut off.
func (b *bases) onlyThose(all []*basebackup.Index) error {
	want := map[string]bool{}
	for _, x := range all {
		want[fmt.Sprintf("%06d.index", x.ID())] = true
		for _, id := range x.Packs() {
			want[fmt.Sprintf("%06d.pack", id)] = true
		}
	}
	names, err := b.m.Names("base")
	if err == nil && !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		err = fmt.Errorf("there are %v, and needed are %v", names, slices.Sorted(maps.Keys(want)))
	}
	return err
}

// change writes to the directory.
func (b *bases) change() {
	rng := b.m.Rand
	for range 1 + rng.IntN(3) {
		name := fmt.Sprintf("%d/t%d.ibd", rng.IntN(2), rng.IntN(3))
		switch rng.IntN(6) {
		case 0:
			_ = os.Remove(filepath.Join(b.dir, name))
		case 1:
			put(b.t, b.dir, name, nil)
		default:
			put(b.t, b.dir, name, noise(uint64(rng.IntN(4)), rng.IntN(4*page)))
		}
	}
}

// again tries what fails for a while.
func (b *bases) again(f func() error) (err error) {
	for range 100 {
		if err = f(); err == nil || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
			return err
		}
	}
	return err
}

// lives runs a few lives of an archive, and returns the first thing that is wrong.
func lives(t *testing.T, seed uint64, met map[string]int, set func(*archivetest.Model)) error {
	m := archivetest.New(seed)
	set(m)
	b := &bases{t: t, m: m, dir: t.TempDir(), written: map[uint32]map[string]string{}}
	defer os.RemoveAll(b.dir)
	for range 4 {
		m.Left = m.Rand.IntN(60)
		if err := b.live(); !errors.Is(err, archivetest.ErrCut) {
			return err
		}
		m.Die()
	}
	_, err := b.check()
	for what, n := range m.Met {
		met[what] += n
	}
	return err
}

// TestPowerCuts cuts the power at every call that writes, with and without faults before: a base that
// Write had returned for is there, whole, and nothing of others is left behind Remove.
func TestPowerCuts(t *testing.T) {
	met := map[string]int{}
	n := *cuts
	if n == 0 {
		n = 600
		if os.Getenv("RAMARIA_TEST_QUICK") == "1" {
			n = 100
		}
	}
	for seed := range uint64(n) {
		set := func(*archivetest.Model) {}
		if seed%2 == 1 {
			set = func(m *archivetest.Model) {
				m.Fail = func(string, string) error {
					switch m.Rand.IntN(40) {
					case 0:
						return syscall.EIO
					case 1:
						return syscall.ENOSPC
					}
					return nil
				}
			}
		}
		if err := lives(t, seed, met, set); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, call := range []string{"mkdir", "create", "write", "sync", "rename", "remove", "syncdir"} {
		if met[call] == 0 {
			t.Errorf("the power was never cut in %s: %v", call, met)
		}
	}
	t.Log(met)
}

// TestLyingDisks: a disk that does not keep its promises is found out.
func TestLyingDisks(t *testing.T) {
	for name, set := range map[string]func(*archivetest.Model){
		"a sync does not last":                  func(m *archivetest.Model) { m.Lies.Sync = true },
		"a sync of the directory does not last": func(m *archivetest.Model) { m.Lies.SyncDir = true },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				if err := lives(t, seed, map[string]int{}, set); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("nothing was lost in 200 histories")
		})
	}
}
