package volume

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Lines pass findmnt's check, and root mounts them in a mount namespace of its own.
func TestFstab(t *testing.T) {
	for _, c := range []struct {
		spec  string
		lines int
		mount bool
	}{{"tmpfs:64M", 1, true}, {"tmpfs", 1, true}, {"ramfs", 1, true}, {"xfs:400M", 2, false}, {"zram:64M", 1, false}} {
		t.Run(c.spec, func(t *testing.T) {
			spec, err := ParseSpec(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "my data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := Fstab(spec, TableFacts{Dir: dir, Account: true, UID: 65534, GID: 65534, NoSwap: kernelHasNoSwap(t)})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Lines) != c.lines || len(got.Steps) == 0 {
				t.Fatalf("%d lines and %d steps", len(got.Lines), len(got.Steps))
			}
			for _, l := range got.Lines {
				if f := strings.Fields(l); len(f) != 6 || !strings.Contains(f[3], "nosuid,nodev,noexec") {
					t.Errorf("line %q", l)
				}
			}
			if !c.mount {
				return
			}
			table := filepath.Join(t.TempDir(), "fstab")
			if err := os.WriteFile(table, []byte(strings.Join(got.Lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("findmnt", "--verify", "--tab-file", table).CombinedOutput(); err != nil {
				t.Errorf("findmnt --verify: %v\n%s", err, out)
			}
			if os.Geteuid() != 0 {
				t.Skip("SKIPPED, UNTESTED: only root mounts")
			}
			out, err := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-ec", `mount -T "$0" "$1"; findmnt -no FSTYPE,OPTIONS -M "$1"`, table, dir).CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), string(spec.Kind)) || !strings.Contains(string(out), "noexec") {
				t.Errorf("mount: %v\n%s", err, out)
			}
			if spec.Size > 0 && !strings.Contains(string(out), "size=65536k") {
				t.Errorf("the limit is not kept: %s", out)
			}
		})
	}
}

// The check of TestFstab must be able to fail.
func TestFstabVerifyFinds(t *testing.T) {
	table := filepath.Join(t.TempDir(), "fstab")
	if err := os.WriteFile(table, []byte("tmpfs\t/not/there at all\ttmpfs\tsize=1M\t0\t0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("findmnt", "--verify", "--tab-file", table).CombinedOutput(); err == nil {
		t.Errorf("findmnt takes a broken line:\n%s", out)
	}
}

func TestFstabRefuses(t *testing.T) {
	for spec, says := range map[string]string{"disk": "not mounted", "shm": "not mounted", "xfs": "needs a size", "zram": "needs a size", "ramfs:1G": "keeps no limit"} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Fstab(s, TableFacts{Dir: "/srv/ram"}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// With labels, and without what the machine lacks.
func TestFstabFacts(t *testing.T) {
	bare, _ := Fstab(Spec{Kind: Tmpfs}, TableFacts{Dir: "/srv/ram"})
	full, _ := Fstab(Spec{Kind: Tmpfs}, TableFacts{Dir: "/srv/ram", NoSwap: true, SELinux: true, Account: true, UID: 7, GID: 8})
	for _, word := range []string{"noswap", "uid=7,gid=8", mysqlContext} {
		if strings.Contains(bare.Lines[0], word) || !strings.Contains(full.Lines[0], word) {
			t.Errorf("%s: %q, %q", word, bare.Lines[0], full.Lines[0])
		}
	}
}

func kernelHasNoSwap(t *testing.T) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && NoSwapIn(string(b))
}
