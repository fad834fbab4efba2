package durable

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

var cuts = flag.Int("cuts", 0, "how often TestManifestPowerCuts cuts the power; 0 for 144, or 36 in a quick run")

// archiveLife is an archive as those who use it have it, over several lives between two power cuts.
type archiveLife struct {
	t   *testing.T
	m   *archivetest.Model
	dir string // a data directory: its one file says which base it is of
	id  archive.ID
	// said are the bases that were said to be there, and not given up since; epoch and acked are up to
	// where the log was said to last.
	said  map[uint32]bool
	epoch uint32
	acked archive.Position
	inst  *instance.Instance
	// killed says that the life before ended by a kill alone: what was in RAM is there.
	killed bool
}

// live is one life: it ends with an error, normally that of a power cut.
func (l *archiveLife) live() error {
	m, err := archive.SettledManifest(l.m)
	switch {
	case errors.Is(err, archive.ErrNoArchive) && len(l.said) == 0:
		m = &archive.Manifest{ID: l.id, Created: time.Now(), NextBase: 1}
	case err != nil:
		return err
	}
	a := &Archive{Disk: l.m, Manifest: m}
	if len(m.Epochs) > 0 {
		if err := l.check(a); err != nil {
			return err
		}
		if l.killed && m.Last().Number == l.epoch && l.m.Rand.IntN(2) == 0 {
			// The server goes on with the data in RAM.
		} else if err := l.recover(a); err != nil {
			return err
		}
	} else if err := l.begin(a); err != nil {
		return err
	}
	for {
		if again, err := l.run(a); err != nil || !again {
			return err
		}
		if err := l.begin(a); err != nil { // --fresh
			return err
		}
	}
}

// check finds what is not as it was said.
func (l *archiveLife) check(a *Archive) error {
	for id := range l.said {
		if !named(a.Manifest, id) {
			return fmt.Errorf("base %d is not there, and was said to be", id)
		}
	}
	for _, b := range a.Manifest.Bases {
		x, err := basebackup.ReadIndex(l.m, l.id, b.ID)
		if err != nil {
			return err
		}
		to := l.t.TempDir()
		if err := basebackup.Restore(l.t.Context(), l.m, x, to, nil); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(to, "which"))
		if err != nil || string(text) != fmt.Sprint(b.ID) {
			return fmt.Errorf("base %d has the data of %q, %w", b.ID, text, err)
		}
	}
	base, parts, err := a.Manifest.Newest()
	if err != nil {
		return err
	}
	last := uint32(0)
	for _, p := range parts {
		from, end, err := archive.ReadLogFrom(l.m, a.Manifest.LogID(p.Epoch.Number), max(1, p.From.File), archive.Discard)
		switch {
		case err != nil:
			return err
		case p.From.Before(from) && from.Offset > 0:
			return fmt.Errorf("base %d goes on at %s, and the log of epoch %d begins at %s", base.ID, p.From, p.Epoch.Number, from)
		case p.Epoch.End != nil && end.Before(*p.Epoch.End):
			return fmt.Errorf("epoch %d ends at %s, and its log at %s", p.Epoch.Number, p.Epoch.End, end)
		case p.Epoch.Number == l.epoch && end.Before(l.acked):
			return fmt.Errorf("the log of epoch %d ends at %s, and was said to last up to %s", l.epoch, end, l.acked)
		}
		last = p.Epoch.Number
	}
	if last < l.epoch {
		return fmt.Errorf("it leads to epoch %d, and epoch %d was said to have begun", last, l.epoch)
	}
	return nil
}

func named(m *archive.Manifest, id uint32) bool {
	for _, b := range m.Bases {
		if b.ID == id {
			return true
		}
	}
	return false
}

// recover begins an epoch as a recovery does.
func (l *archiveLife) recover(a *Archive) error {
	end, _, err := a.end()
	if err != nil {
		return err
	}
	if err := a.GoOn(l.inst, Recovered{End: end}); err != nil {
		return err
	}
	l.epoch, l.acked = a.Manifest.Last().Number, archive.Position{}
	return nil
}

// begin begins an epoch with a base.
func (l *archiveLife) begin(a *Archive) error {
	b, err := l.base(a)
	if err != nil {
		return err
	}
	if err := a.beginWith(l.inst, b); err != nil {
		return err
	}
	l.said[b.ID] = true
	l.epoch, l.acked = a.Manifest.Last().Number, archive.Position{}
	return nil
}

// base writes the next base.
func (l *archiveLife) base(a *Archive) (archive.Base, error) {
	var prev *basebackup.Index
	if bases := a.Manifest.Bases; len(bases) > 0 && l.m.Rand.IntN(3) > 0 {
		x, err := basebackup.ReadIndex(l.m, l.id, bases[len(bases)-1].ID)
		if err != nil {
			return archive.Base{}, err
		}
		prev = x
	}
	if err := os.WriteFile(filepath.Join(l.dir, "which"), []byte(strconv.FormatUint(uint64(max(1, a.Manifest.NextBase)), 10)), 0o600); err != nil {
		return archive.Base{}, err
	}
	return a.writeBase(l.t.Context(), l.dir, prev)
}

// run is one life of a server: its log is archived, bases are made and pruned. It reports whether another epoch is
// to begin.
func (l *archiveLife) run(a *Archive) (again bool, err error) {
	id := a.Manifest.LogID(l.epoch)
	end, _, err := archive.EndOf(l.m, id)
	if err != nil {
		return false, err
	}
	log, err := archive.OpenLog(l.m, id, end)
	if err != nil {
		return false, err
	}
	defer func() {
		if cerr := log.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	if err := log.Settle(); err != nil {
		return false, err
	}
	l.acked = end
	k := &Keeper{Archive: a, Instance: l.inst, Log: slog.New(slog.DiscardHandler), log: log, fences: &fences{}, ship: &shipper.Shipper{Log: log}}
	for at := (archive.Position{File: max(1, end.File), Offset: end.Offset}); ; {
		switch l.m.Rand.IntN(8) {
		case 0: // a base
			b, err := l.base(a)
			if err != nil {
				return false, err
			}
			if b.At = l.acked; b.At.File == 0 {
				b.At = archive.Position{}
			}
			if b, err = l.add(k, b); err != nil {
				return false, err
			}
			l.said[b.ID] = true
		case 1:
			k.Policy.Short = l.m.Rand.IntN(2) == 0
			kept := k.Policy.Keep(a.Manifest, time.Now())
			l.said = map[uint32]bool{}
			for _, b := range kept {
				l.said[b.ID] = true
			}
			if _, err := k.Prune(); err != nil {
				return false, err
			}
		case 2: // another file of the log
			if at.Offset > 0 {
				at = archive.Position{File: at.File + 1}
			}
		case 3:
			if l.m.Rand.IntN(4) == 0 {
				return true, nil
			}
		default:
			n := 1 + l.m.Rand.IntN(9000)
			if err := log.Append(at, make([]byte, n)); err != nil {
				return false, err
			}
			at.Offset += int64(n)
			l.acked = at
		}
	}
}

// add adds a base, also before there is any log.
func (l *archiveLife) add(k *Keeper, b archive.Base) (archive.Base, error) {
	if b.At == (archive.Position{}) {
		b.Epoch = l.epoch
		return b, k.Archive.save(func(m *archive.Manifest) { m.Add(b) })
	}
	return k.AddBase(b)
}

func newArchiveLife(t *testing.T, seed uint64) *archiveLife {
	t.Helper()
	dir := t.TempDir()
	return &archiveLife{
		t: t, m: archivetest.New(seed), dir: dir, id: archive.ID{1, 2, 3}, said: map[uint32]bool{},
		inst: &instance.Instance{Made: instance.Made{Server: &server.Server{Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11, Patch: 14}}}},
	}
}

// lives cuts the power so often, in lives that follow each other, and returns what was found.
func (l *archiveLife) lives(n int) error {
	for range n {
		l.m.Left = l.m.Rand.IntN(150)
		if l.m.Rand.IntN(2) == 0 {
			l.m.Left = l.m.Rand.IntN(900) // a segment alone takes 66 calls
		}
		if err := l.live(); !errors.Is(err, archivetest.ErrCut) {
			return err
		}
		l.killed = !l.m.Die()
	}
	return nil
}

// TestManifestPowerCuts: whatever a power cut leaves of an archive, the manifest reads, its newest base leads to the
// end of what was said to last, and nothing that it names is missing.
func TestManifestPowerCuts(t *testing.T) {
	n := *cuts
	if n == 0 {
		n = 144
		if os.Getenv("RAMARIA_TEST_QUICK") != "" || testing.Short() {
			n = 36
		}
	}
	const lives = 12
	met := map[string]int{}
	for seed := uint64(1); seed <= uint64(max(1, n/lives)); seed++ {
		l := newArchiveLife(t, seed)
		if err := l.lives(lives); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for what, n := range l.m.Met {
			met[what] += n
		}
	}
	for _, what := range []string{"create", "write", "writesync", "sync", "rename", "syncdir"} {
		if met[what] == 0 && n >= 144 {
			t.Errorf("the power was never cut in a %s: %v", what, met)
		}
	}
	t.Log(met)
}

// TestManifestNeedsDirectorySync: with syncs of directories that do nothing it is found that something is lost.
func TestManifestNeedsDirectorySync(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		l := newArchiveLife(t, seed)
		l.m.Lies.SyncDir = true
		if err := l.lives(12); err != nil {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Error("directories are not synced, and nothing is missing")
}
