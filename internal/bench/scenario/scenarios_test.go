package scenario

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/numbers"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestKinds makes every scenario: each says what it takes, and its rows have names of their own.
func TestKinds(t *testing.T) {
	for _, k := range append(append([]Kind{}, Kinds...), SuiteKind(suite.Way{Argv: []string{"true"}})) {
		s := k.Make(labtest.Bare(t, lab.Options{}))
		if s.Name != k.Name {
			t.Errorf("%s makes %s", k.Name, s.Name)
		}
		if s.Memory <= 0 || s.Memory > 16<<30 || s.Disk < 0 || s.Disk > 16<<30 || s.Shm < 0 || s.Shm > s.Memory {
			t.Errorf("%s takes %d bytes of memory, %d of /dev/shm, and %d of the disk", k.Name, s.Memory, s.Shm, s.Disk)
		}
		shm := k.Make(labtest.Bare(t, lab.Options{Volumes: []volume.Kind{volume.Shm}, Places: []string{lab.PlaceRamaria}}))
		if elsewhere := k.Name == "branch" || k.Name == "busy" || k.Name == "tier"; elsewhere != (shm.Shm == 0) && len(shm.Cases) > 0 {
			t.Errorf("%s in /dev/shm takes %d bytes of it", k.Name, shm.Shm)
		}
		for _, c := range s.Cases {
			if strings.Contains(c.Name, "ramaria") && !c.Ours {
				t.Errorf("%s: row %q is not said to be of Ramaria", k.Name, c.Name)
			}
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

// TestOursByPlace: a row of the suite is of Ramaria by where its server is, however its way is called.
func TestOursByPlace(t *testing.T) {
	argv := []string{"true"}
	k := SuiteKind(suite.Way{Name: "without ramaria", Place: lab.PlaceDisk, Argv: argv}, suite.Way{Name: "reset", Place: lab.PlaceRamaria, Argv: argv})
	s := k.Make(labtest.Bare(t, lab.Options{}))
	if r := runner.Refused(s, errors.New("no time")); len(r.Rows) != 2 || r.Rows[0].Ours || !r.Rows[1].Ours {
		t.Errorf("the rows are %+v", r.Rows)
	}
}

// TestQuickIsSmall: what runs with `all --quick` prepares little, and so takes little room.
func TestQuickIsSmall(t *testing.T) {
	for _, k := range Kinds {
		s := k.Make(labtest.Bare(t, lab.Options{Quick: true, Scale: 1}))
		const most = 2_200 << 20 // cycle and the fleets have so many servers
		if !k.Slow && (s.Memory > most || s.Disk > most) {
			t.Errorf("%s --quick takes %d MB of memory and %d MB of the disk", k.Name, s.Memory>>20, s.Disk>>20)
		}
		t.Log(k.Name, s.Memory>>20, s.Disk>>20)
	}
}

// TestKindsTakeTheirFlags: what a scenario does not take changes nothing in it.
func TestKindsTakeTheirFlags(t *testing.T) {
	for _, k := range Kinds {
		names := func(o lab.Options) string {
			l := labtest.Bare(t, lab.Options{})
			l.Options = o
			s := k.Make(l)
			var b strings.Builder
			for _, c := range s.Cases {
				b.WriteString(c.Name + "\n")
			}
			return b.String() + s.Title + s.Settings["data"]
		}
		volumes := []volume.Kind{volume.Tmpfs}
		plain := names(lab.Options{Volumes: volumes})
		for flag, o := range map[string]lab.Options{
			FlagPlace: {Places: []string{lab.PlaceRAMByHand}}, FlagThreads: {Threads: []int{3}}, FlagWorkload: {Workloads: lab.WriteWorkloads[:2]}, FlagScale: {Scale: 0.1},
		} {
			o.Volumes = volumes
			if changed := names(o) != plain; changed && !k.Takes(flag) {
				t.Errorf("%s: --%s changes it, and it says that it does not take it", k.Name, flag)
			} else if !changed && k.Takes(flag) {
				t.Errorf("%s: --%s does not change it", k.Name, flag)
			}
		}
	}
}

// TestRoom: what a scenario takes is there, or the error says of what there is too little.
func TestRoom(t *testing.T) {
	l := labtest.Bare(t, lab.Options{})
	l.Home = t.TempDir()
	const more = 1 << 60 // than any machine has
	for want, s := range map[string]runner.Scenario{
		"":                      {},
		l.Dir + " has ":         {Disk: more},
		"of memory are ":        {Memory: more},
		"/dev/shm has ":         {Shm: more},
		"remount,size=":         {Shm: more},
		", or --scale 0.1":      {Name: "sort", Shm: more},
		"docker run --shm-size": {Name: "reset", Shm: more},
	} {
		err := l.Room(s, Scalable(s.Name))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", s, err, want)
		}
	}
}

// TestScenariosOfPlaces makes the scenarios as the command does, on a machine that has nothing.
func TestScenariosOfPlaces(t *testing.T) {
	for name, o := range map[string]lab.Options{
		"standard": {},
		"chosen":   {Places: []string{lab.PlaceRamaria, "emulated:100", lab.PlaceDisk}, Volumes: []volume.Kind{volume.Zram, volume.Tmpfs}, Scale: 0.01},
		"huge":     {Scale: lab.MaxScale},
		"tiny":     {Scale: 0.00001},
	} {
		l := &lab.Lab{Server: &server.Server{Flavour: server.MariaDB}, Dir: t.TempDir(), Options: o}
		for _, s := range []runner.Scenario{FilesScenario(l), numbers.Insert(l), numbers.Update(l)} {
			rows := map[string]bool{}
			for _, c := range s.Cases {
				if rows[c.Name] {
					t.Errorf("%s, %s: two rows %q", name, s.Name, c.Name)
				}
				rows[c.Name] = true
				if c.Settings == "" || !strings.HasPrefix(c.Command, "ramaria bench "+s.Name+" --place ") {
					t.Errorf("%s, %s: row %q with settings %q, command %q", name, s.Name, c.Name, c.Settings, c.Command)
				}
				if err := c.Cleanup(t.Context()); err != nil {
					t.Errorf("%s, %s: clean up %q that was not prepared: %v", name, s.Name, c.Name, err)
				}
			}
			if err := s.Validate(); err != nil {
				t.Errorf("%s, %s: %v", name, s.Name, err)
			}
			if s.Disk <= 0 || s.Memory <= 0 || s.Conclusion == nil || s.Title == "" {
				t.Errorf("%s, %s: %d of disk, %d of memory, title %q", name, s.Name, s.Disk, s.Memory, s.Title)
			}
		}
	}
}
