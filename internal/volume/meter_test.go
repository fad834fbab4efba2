package volume_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// metered is a volume in a file system in which others have files, too.
type metered struct {
	volume.Volume
	t     *testing.T
	other string
}

func newMetered(t *testing.T) metered {
	t.Helper()
	dir := smallTmpfs(t, "64m")
	v := open(t, host.Places{Shm: filepath.Join(dir, "v")}, volume.Spec{Kind: volume.Shm, Size: 48 << 20})
	return metered{v, t, filepath.Join(dir, "other")}
}

// write gives a file so many MB, and removes it for 0.
func (m metered) write(path string, mb int) {
	m.t.Helper()
	err := os.RemoveAll(path)
	if err == nil && mb > 0 {
		err = os.WriteFile(path, make([]byte, mb<<20), 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m metered) own(name string) string { return filepath.Join(m.Dir(), "instances", name) }

// notFaster waits until nothing can have been written faster than volume.Fastest.
func notFaster() { time.Sleep(5 * time.Millisecond) }

// walked is what a walk finds.
func (m metered) walked() volume.Usage {
	m.t.Helper()
	u, err := m.Usage()
	if err != nil {
		m.t.Fatal(err)
	}
	return u
}

func (m metered) read(meter *volume.Meter, enough func(volume.Reading) bool) volume.Reading {
	m.t.Helper()
	r, err := meter.Read(enough)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// TestMeter follows what is written, and walks for those to whom it makes a difference.
func TestMeter(t *testing.T) {
	m := newMetered(t)
	m.write(m.other, 20)
	meter := volume.NewMeter(m.Volume)
	unpleased := func(volume.Reading) bool { return false }
	check := func(step string, r volume.Reading, used int64) {
		t.Helper()
		if is := m.walked(); r.Used != used<<20 || r.Worst.Used < is.Used || r.Worst.Free > is.Free {
			t.Errorf("%s: read %+v, want %d MB; a walk finds %+v", step, r, used, is)
		}
	}
	check("at first", m.read(meter, nil), 0)
	m.write(m.own("a"), 5)
	check("written", m.read(meter, nil), 5)
	m.write(m.own("a"), 0)
	check("removed", m.read(meter, nil), 0)
	m.write(m.own("b"), 7)
	check("a walk", m.read(meter, unpleased), 7)
	// Without a walk it cannot tell whose files went: the reading is wrong, and the worst is not.
	m.write(m.own("c"), 9)
	m.write(m.other, 10)
	notFaster()
	check("others removed", m.read(meter, nil), 6)
	check("and a walk", m.read(meter, unpleased), 16)
}

// TestMeterAlone walks at no level of fullness while nobody else has files there.
func TestMeterAlone(t *testing.T) {
	m := newMetered(t)
	meter := volume.NewMeter(m.Volume)
	m.read(meter, nil)
	for mb := range 47 {
		m.write(m.own("a"), mb)
		r := m.read(meter, func(volume.Reading) bool { t.Error("asked at", mb); return true })
		if is := m.walked(); r.Used != is.Used || r.Worst != r.Usage || r.Free != is.Free {
			t.Errorf("%d MB: read %+v, a walk finds %+v", mb, r, is)
		}
	}
}

// TestMeterWorst holds the worst against walks, whatever happens to whichever files.
func TestMeterWorst(t *testing.T) {
	m := newMetered(t)
	meter := volume.NewMeter(m.Volume)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for step := range 200 {
		path := m.own(strconv.Itoa(random.IntN(4)))
		if random.IntN(3) == 0 {
			path = m.other + strconv.Itoa(random.IntN(2))
		}
		m.write(path, random.IntN(9))
		notFaster()
		limit := random.Int64N(48 << 20)
		r := m.read(meter, func(r volume.Reading) bool { return r.Worst.Used < limit })
		if is := m.walked(); r.Worst.Used < is.Used || r.Worst.Free > is.Free || r.Worst.Used < limit && is.Used >= limit {
			t.Fatalf("seed %d, step %d: read %+v, a walk finds %+v", seed, step, r, is)
		}
	}
}
