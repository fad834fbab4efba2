package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/view"
)

// many is an overview with instances of every kind.
func many() view.Overview {
	at := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	busy, some, full := 1234.4, 3.25, 12000.0
	o := view.Overview{At: at, Machine: view.Machine{TotalBytes: 24 << 30, AvailableBytes: 20 << 30, TakenBytes: 1 << 30, SwapUsedBytes: 5 << 20}}
	o.Instances = append(o.Instances,
		view.Instance{
			Name: "shop", Phase: instance.Running, Since: at, Server: "mariadb-10.11.19", Host: "127.0.0.1", Port: 4711, DataBytes: 9 << 20, ServerBytes: 60 << 20,
			Volume:  view.Volume{Kind: "xfs", UsedPercent: 92, Level: "warning", FullSeconds: &full},
			Traffic: &view.Traffic{Connections: 7, QueriesPerSecond: &busy}, Leases: &view.Leases{Used: 3, Max: 64, ResetsPerSecond: &some},
			Warnings: []string{"volume xfs is 92 % full\nhint: \x1b]0;pwned\x07"},
		},
		view.Instance{
			Name: "ledger", Phase: instance.Running, Since: at, Server: "mysql-9.7.1", Volume: view.Volume{Kind: "shm", UsedPercent: 1, Level: "ample"}, Traffic: &view.Traffic{Connections: 1, QueriesPerSecond: &some},
			Durable: &client.Durable{Level: "commit", RecoverSeconds: 1.5, RecoverWithinSeconds: 60},
		},
		view.Instance{Name: "broken", Phase: instance.Crashed, Since: at, Reason: "its supervisor was killed", Volume: view.Volume{Kind: "xfs"}},
	)
	for n := range 30 {
		o.Instances = append(o.Instances, view.Instance{Name: "ci-" + string(rune('a'+n%26)) + string(rune('a'+n/26)), Phase: instance.Stopped, Since: at, Volume: view.Volume{Kind: "xfs"}})
	}
	return o
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// TestTopFits draws on terminals of several sizes: nothing is wider or higher, the chosen one is there, and the
// terminal obeys nothing that comes from elsewhere.
func TestTopFits(t *testing.T) {
	for _, size := range [][2]int{{200, 60}, {160, 50}, {80, 24}, {60, 24}, {40, 12}, {20, 5}, {1, 1}} {
		for _, coloured := range []bool{true, false} {
			for selected := range 33 {
				s := topScreen{seen: many(), width: size[0], height: size[1], coloured: coloured, selected: selected, all: true}
				text := s.frame()
				if strings.Contains(text, "\x1b]") {
					t.Fatalf("%v: the terminal would obey a warning", size)
				}
				if !coloured && strings.Contains(text, red) {
					t.Fatalf("%v: there are colours", size)
				}
				lines := strings.Split(escapes.ReplaceAllString(text, ""), "\r\n")
				if len(lines) > size[1] {
					t.Fatalf("%v: %d lines", size, len(lines))
				}
				for _, l := range lines {
					if n := utf8.RuneCountInString(l); n > size[0] {
						t.Fatalf("%v: a line has %d columns: %s", size, n, l)
					}
				}
				if size[1] >= 12 && !strings.Contains(strings.Join(lines, "\n"), "\n> "+s.sorted()[selected].Name) {
					t.Fatalf("%v: row %d is not shown:\n%s", size, selected, strings.Join(lines, "\n"))
				}
			}
		}
	}
}

// TestTopColumns leaves out what matters least where there is no room.
func TestTopColumns(t *testing.T) {
	for width, want := range map[int]string{
		160: "NAME STATE SERVER VOLUME FULL IN RAM CONN QUERY/S LEASES RESET/S DURABLE",
		80:  "NAME STATE VOLUME FULL IN RAM CONN QUERY/S LEASES RESET/S",
		40:  "NAME STATE RAM CONN QUERY/S",
	} {
		s := topScreen{seen: many()}
		if got := strings.Join(regexp.MustCompile(`\s{2,}`).Split(s.list(s.arranged(), width)[0], -1), " "); got != want {
			t.Errorf("%d columns: %s", width, got)
		}
	}
}

// TestTopPlain is a look as text.
func TestTopPlain(t *testing.T) {
	s := topScreen{seen: many(), width: plainWidth}
	text := s.plain()
	for _, want := range []string{
		"2 of 33 running  1238 queries/s  8 connections", "memory: 1 GB taken, 20 GB of 24 GB available, 5 MB swapped out",
		"running !", "xfs 92 %", "3 h 20 min", "none lost, 1.5s of 1m", `shop: warning: volume xfs is 92 % full; hint: \x1b]0;pwned\x07`, "broken: its supervisor was killed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "shop") > strings.Index(text, "ledger") {
		t.Error("the busiest is not the first")
	}
	if got := (&topScreen{width: 80}).plain(); !strings.Contains(got, "no instances; ramaria up makes one") {
		t.Errorf("without instances: %s", got)
	}
}

// TestTopKeys obeys what is typed.
func TestTopKeys(t *testing.T) {
	s := topScreen{seen: many(), width: 80, height: 24, all: true}
	for _, k := range []string{"j", "\x1b[B", "j", "k"} {
		if !s.key(k) {
			t.Errorf("%q ends", k)
		}
	}
	if s.selected != 2 {
		t.Errorf("row %d is chosen", s.selected)
	}
	for range topOrders {
		s.key("s")
		_ = s.frame()
	}
	if s.sort != 0 {
		t.Error("s does not come round")
	}
	s.key("g")
	_ = s.frame()
	if s.name != "shop" {
		t.Errorf("the first is %s", s.name)
	}
	s.key("s") // by name
	if text := s.frame(); s.name != "shop" || s.selected != 2 || !strings.Contains(text, "> shop") {
		t.Errorf("in another order %s is chosen, in row %d", s.name, s.selected)
	}
	for _, k := range []string{"q", "\x03"} {
		if s.key(k) {
			t.Errorf("%q does not end", k)
		}
	}
}

// TestFirstKey takes keys apart that come together.
func TestFirstKey(t *testing.T) {
	for text, want := range map[string][]string{
		"q": {"q"}, "jjk": {"j", "j", "k"}, "\x1b[A\x1b[Bs": {"\x1b[A", "\x1b[B", "s"}, "\x1bOAq": {"\x1bOA", "q"}, "\x1b[1;5Cq": {"\x1b[1;5C", "q"},
		"\x1b": {"\x1b"}, "\x1b[": {"\x1b", "["}, "é\x03": {"é", "\x03"}, "\xffq": {"\xff", "q"},
	} {
		var got []string
		for rest := text; rest != ""; {
			var key string
			key, rest = firstKey(rest)
			got = append(got, key)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// grouped is an overview with a cluster, an instance with replicas, and what is stopped.
func grouped() view.Overview {
	at := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	lag := 75.0
	o := view.Overview{At: at, Machine: view.Machine{TotalBytes: 24 << 30, AvailableBytes: 20 << 30, TakenBytes: 1 << 30}}
	add := func(name string, change func(*view.Instance)) {
		i := view.Instance{Name: name, Phase: instance.Running, Since: at, Server: "mysql-9.7.1", Volume: view.Volume{Kind: "xfs", UsedPercent: 3, Level: "ample"}, Traffic: &view.Traffic{}}
		change(&i)
		o.Instances = append(o.Instances, i)
	}
	stopped := func(i *view.Instance) { i.Phase, i.Traffic = instance.Stopped, nil }
	add("archive", stopped)
	add("pay-1", func(i *view.Instance) { stopped(i); i.Group = "pay" })
	add("pay-2", func(i *view.Instance) {
		i.Group, i.Role, i.Cluster = "pay", "primary", &client.Membership{Cluster: "pay", State: "ONLINE", Online: true, Role: "primary", Sees: 2, Of: 3}
	})
	add("pay-3", func(i *view.Instance) {
		i.Group, i.Cluster = "pay", &client.Membership{Cluster: "pay", State: "RECOVERING", Sees: 1, Of: 3}
	})
	add("shop", func(i *view.Instance) { i.Group, i.Role = "shop", "source" })
	add("shop-copy", func(i *view.Instance) {
		i.Group, i.Role, i.Replica = "shop", "replica", &client.Replica{Of: "shop", State: view.Following, LagSeconds: &lag}
	})
	add("old", stopped)
	o.Groups = []view.Group{
		{Name: "pay", Kind: view.Cluster, Members: []string{"pay-2", "pay-1", "pay-3"}, Online: 2, Of: 3, Quorum: true},
		{Name: "shop", Kind: view.Replicas, Members: []string{"shop", "shop-copy"}, Online: 2, Of: 2, LagSeconds: &lag},
	}
	return o
}

// TestTopGroups shows clusters and replicas together, and what is stopped as a line.
func TestTopGroups(t *testing.T) {
	s := topScreen{seen: grouped(), width: 100}
	want := []string{
		"NAME         STATE    ROLE                   VOLUME   FULL IN  RAM  CONN  QUERY/S  LEASES  RESET/S",
		"cluster pay  2 of 3 online  quorum",
		"├ pay-2      running  primary                xfs 3 %  -        0 B     0        -       -        -",
		"├ pay-3      running  recovering             xfs 3 %  -        0 B     0        -       -        -",
		"└ pay-1      stopped                         xfs 3 %  -        0 B     -        -       -        -",
		"shop and replicas  2 of 2 work  1 min behind",
		"├ shop       running  source                 xfs 3 %  -        0 B     0        -       -        -",
		"└ shop-copy  running  replica, 1 min behind  xfs 3 %  -        0 B     0        -       -        -",
		"2 stopped: archive, old",
	}
	if d := cmp.Diff(want, s.list(s.arranged(), s.width)); d != "" {
		t.Error(d)
	}
	s.key("a")
	if got := len(s.sorted()); got != 7 {
		t.Errorf("unfolded there are %d instances", got)
	}
}

// TestTopOrderIsStable: rows whose rates are nearly the same stay where they are, however these change.
func TestTopOrderIsStable(t *testing.T) {
	s := topScreen{width: 80, height: 24}
	see := func(a, b float64) string {
		s.seen = view.Overview{Instances: []view.Instance{
			{Name: "a", Phase: instance.Running, Traffic: &view.Traffic{QueriesPerSecond: &a}}, {Name: "b", Phase: instance.Running, Traffic: &view.Traffic{QueriesPerSecond: &b}},
		}}
		return s.sorted()[0].Name
	}
	for n, step := range []struct {
		a, b float64
		want string
	}{{2, 0, "a"}, {0, 3, "a"}, {1, 2, "a"}, {0, 100, "b"}, {90, 100, "b"}, {110, 100, "b"}, {130, 90, "b"}, {500, 90, "a"}, {400, 110, "a"}} {
		if got := see(step.a, step.b); got != step.want {
			t.Errorf("step %d: %s is the first", n, got)
		}
	}
}

// TestTopCutsNoWords: on a narrow terminal head and foot leave out what there is no room for.
func TestTopCutsNoWords(t *testing.T) {
	for width := 10; width <= 120; width++ {
		s := topScreen{seen: grouped(), width: width, height: 24}
		lines := strings.Split(escapes.ReplaceAllString(s.frame(), ""), "\r\n")
		wide := topScreen{seen: grouped(), width: 1000, height: 24}
		whole := strings.Split(escapes.ReplaceAllString(wide.frame(), ""), "\r\n")
		for _, n := range []int{0, 1, len(lines) - 1} {
			rest, ok := strings.CutPrefix(whole[n], lines[n])
			if width >= 24 && (!ok || rest != "" && rest[0] != ' ' && rest[0] != ',') {
				t.Fatalf("%d columns: %q is cut", width, lines[n])
			}
		}
	}
}
