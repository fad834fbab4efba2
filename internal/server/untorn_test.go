package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestUntorn(t *testing.T) {
	promise := UntornFacts{Asked: AtomicAuto, Volume: "disk", PageSize: DefaultPageSize, Min: 4096, Max: 65536, Fast: 65536, Wrote: true, Device: "nvme0n1", DeviceMax: 65536}
	maria := &Server{Flavour: MariaDB, Version: Version{11, 8, 9}}
	for _, c := range []struct {
		name    string
		change  func(*UntornFacts)
		writes  bool // the server uses RWF_ATOMIC
		without bool
		why     string
	}{
		{"off", func(f *UntornFacts) { f.Asked = AtomicOff }, true, false, ""},
		{"default", func(f *UntornFacts) { f.Asked = "" }, true, false, ""},
		{"promised, and the server asks for it", func(*UntornFacts) {}, true, true, "asks for that"},
		{"promised, and the server does not", func(*UntornFacts) {}, false, false, "does not use"},
		{"in software, and the server does not", func(f *UntornFacts) { f.Fast = 4096 }, false, false, "in software"},
		{"in software, and the server asks for it", func(f *UntornFacts) { f.Fast = 4096 }, true, true, "in software"},
		{"none", func(f *UntornFacts) { f.Min, f.Max, f.Wrote, f.DeviceMax = 0, 0, false, 0 }, true, false, "no untorn writes (device nvme0n1: 0 bytes)"},
		{"a block alone, as ext4 without bigalloc", func(f *UntornFacts) { f.Max, f.Fast = 4096, 4096 }, true, false, "4096 to 4096 bytes, and a page has 16384"},
		{"pages of 4 KB on it", func(f *UntornFacts) { f.Max, f.Fast, f.PageSize = 4096, 4096, 4096 }, true, true, ""},
		{"pages of 64 KB", func(f *UntornFacts) { f.Max, f.PageSize = 32768, 65536 }, true, false, "65536"},
		{"reported, and refused", func(f *UntornFacts) { f.Wrote = false }, true, false, "refuses"},
		{"unknown", func(f *UntornFacts) { f.Failed = errors.New("no O_DIRECT") }, true, false, "no O_DIRECT"},
		{"in RAM", func(f *UntornFacts) { f.Volume = "xfs" }, true, false, "volume xfs is RAM"},
		{"on", func(f *UntornFacts) { f.Asked, f.Max, f.Min = AtomicOn, 0, 0 }, false, true, "--device-atomic on says"},
		{"on, in RAM", func(f *UntornFacts) { f.Asked, f.Volume = AtomicOn, "shm" }, false, false, "RAM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.writes {
				untornSince[MariaDB] = Version{11, 8, 0}
				defer delete(untornSince, MariaDB)
			}
			f := promise
			c.change(&f)
			without, why := maria.Untorn(f)
			if without != c.without || !strings.Contains(why, c.why) {
				t.Errorf("without %v, %q; expected %v, %q", without, why, c.without, c.why)
			}
		})
	}
}

// XFS on a loop device, as Linux 6.18 reports it: whatever is said to be fast, the device does none.
func TestUntornInSoftware(t *testing.T) {
	f := UntornFacts{Asked: AtomicAuto, Volume: "disk", PageSize: DefaultPageSize}
	f = f.With(host.Untorn{Untorn: sys.Untorn{Min: 4096, Max: 1 << 20, Fast: 1 << 20, Wrote: true}, Device: "loop0"})
	if promised, says := f.Promised(); !promised || !strings.Contains(says, "in software") {
		t.Errorf("%v, %q", promised, says)
	}
	if without, why := (&Server{Flavour: MySQL, Version: Version{9, 7, 4}}).Untorn(f); without || !strings.Contains(why, "mysql-9.7.4 does not use") {
		t.Errorf("%v, %q", without, why)
	}
}

// Without the buffer a server writes past the page cache; with it nothing has changed, and in RAM nothing does.
func TestUntornConfig(t *testing.T) {
	for _, s := range []*Server{{Flavour: MariaDB, Version: Version{11, 8, 9}}, {Flavour: MySQL, Version: Version{9, 7, 4}}} {
		for _, c := range []struct {
			volume  string
			untorn  bool
			without bool
		}{{"disk", false, false}, {"disk", true, true}} {
			text, err := s.Render(Config{Stage: Run, Volume: c.volume, DataDir: "/d", RunDir: "/r", TmpDir: "/t", Untorn: c.untorn})
			if err != nil {
				t.Fatal(err)
			}
			text = strings.NewReplacer(" ", "", `"`, "", "'", "").Replace(text)
			off, direct := strings.Contains(text, "innodb_doublewrite=OFF"), strings.Contains(text, "innodb_flush_method=O_DIRECT")
			on, nosync := strings.Contains(text, "innodb_doublewrite=ON"), strings.Contains(text, "innodb_flush_method=nosync")
			if off != c.without || direct != c.without || on == c.without || nosync == c.without {
				t.Errorf("%s, %+v: doublewrite on %v, off %v; nosync %v, O_DIRECT %v", s.Name(), c, on, off, nosync, direct)
			}
		}
	}
}
