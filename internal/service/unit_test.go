package service

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var units = map[string]Unit{
	"system": {
		Instance: "shop", State: "/var/lib/ramaria", Program: "/usr/local/bin/ramaria", Server: "mariadb-10.11.19", Volume: "xfs",
		Needs: []string{"/var/lib/ramaria", "/var/cache/ramaria", "/srv/ssd/shop"}, Writes: []string{"/var/lib/ramaria", "/srv/ssd/shop", "/dev/shm"},
		MountedAt: "/run/ramaria/volumes/xfs", Network: true,
	},
	"user": {
		Instance: "shop", State: "/var/lib/ramaria", User: true, Program: "/home/ann/bin/ramaria", Server: "mysql-9.7.4", Volume: "shm",
		Environment: []string{"XDG_STATE_HOME=/home/ann/my state"}, Lingers: true,
	},
	"odd": { // all that systemd would read otherwise
		Instance: "a-b_c", State: "/var/lib/ramaria", Program: "/opt/100% mine/ramaria", Home: `/srv/it's "$HOME"\ at 5%`, Server: "mariadb-11.8.9", Volume: "zram",
		Needs: []string{"/srv/a home"}, Writes: []string{"/srv/a home", "/srv/a home"}, MountedAt: "/run/ramaria/a-b/zram",
	},
}

func TestText(t *testing.T) {
	for name, u := range units {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".service")
			got := u.Text()
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestVerify has systemd read the units, and one with an error.
func TestVerify(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED, UNTESTED: whether systemd takes the units, since there is no systemd-analyze")
	}
	verify := func(text string) string {
		path := filepath.Join(t.TempDir(), Name("shop"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "verify", path).CombinedOutput() // #nosec G204 -- a test's own file
		if err != nil && len(out) == 0 {
			t.Fatal(err)
		}
		var said []string
		for line := range strings.Lines(string(out)) {
			// Programs of the test's that do not exist, and what else is wrong on this machine.
			if strings.Contains(line, filepath.Base(path)) && !strings.Contains(line, "is not executable") {
				said = append(said, line)
			}
		}
		return strings.Join(said, "")
	}
	for name, u := range units {
		if said := verify(u.Text()); said != "" {
			t.Errorf("%s: %s", name, said)
		}
	}
	if err := (Unit{Program: `/opt/it's/ramaria`}).Check(); err == nil {
		t.Error("it takes a program that systemd refuses")
	}
	if said := verify(strings.Replace(units["system"].Text(), "KillMode=", "KillMoot=", 1)); said == "" {
		t.Error("it passes a setting that does not exist")
	}
}

func TestMountUnit(t *testing.T) {
	for path, want := range map[string]string{
		"/run/ramaria/volumes/xfs": "run-ramaria-volumes-xfs.mount",
		"/run/a-b/.c d/":           `run-a\x2db-.c\x20d.mount`,
		"/":                        "-.mount",
	} {
		if got := mountUnit(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	m := Manager{Dir: t.TempDir()}
	u := units["system"]
	if found, err := m.Find(u.Instance, u.State); found != nil || err != nil {
		t.Errorf("found %v, %v in an empty directory", found, err)
	}
	if err := write(m.Path(u.Instance), u.Text()); err != nil {
		t.Fatal(err)
	}
	found, err := m.Find(u.Instance, u.State)
	if err != nil || found == nil || found.Program != u.Program || found.Lingers || found.Text != u.Text() {
		t.Errorf("found %+v, %v", found, err)
	}
	if names, err := m.List(u.State); err != nil || !cmp.Equal(names, []string{"shop"}) {
		t.Errorf("listed %v, %v", names, err)
	}
	for _, other := range []string{"", "/srv/other/state"} {
		if _, err := m.Find(u.Instance, other); !errors.Is(err, ErrForeign) {
			t.Errorf("state %q: %v, want ErrForeign", other, err)
		}
		if names, err := m.List(other); err != nil || len(names) > 0 {
			t.Errorf("state %q has %v, %v", other, names, err)
		}
	}
	if err := write(m.Path(u.Instance), "[Service]\nExecStart=/bin/true\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Find(u.Instance, u.State); !errors.Is(err, ErrForeign) {
		t.Errorf("a stranger's unit: %v, want ErrForeign", err)
	}
}
