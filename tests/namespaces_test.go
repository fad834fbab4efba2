package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inNamespace runs a shell script with root's rights in namespaces of its own, as in a
// container that shares /dev/shm and /run with this machine, and returns what it wrote.
func (h *testHome) inNamespace(script string, flags ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "unshare", append(flags, "sh", "-euc", script)...)
	cmd.Env = append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1", "RAMARIA_SERVER="+series(h.srv))
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// newSharedHouse is a testHome of a machine that can make namespaces.
func newSharedHouse(t *testing.T) *testHome {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: containers take root")
	}
	if out, err := exec.Command("unshare", "-m", "-p", "-f", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: unshare: %v: %s", err, out)
	}
	return newTestHome(t)
}

// ramKinds are the kinds of volumes in RAM that this machine has.
func ramKinds(t *testing.T) []string {
	kinds := []string{"shm", "tmpfs", "ramfs"}
	for _, kind := range []string{"xfs", "zram"} {
		if ok, err := condition(kind); err != nil {
			t.Fatal(err)
		} else if ok {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestContainersShareMemory runs everything that makes, sweeps and removes in a container
// of the same home's path, with another state directory and other processes.
func TestContainersShareMemory(t *testing.T) {
	t.Parallel()
	h := newSharedHouse(t)
	inner := t.TempDir()
	for _, kind := range ramKinds(t) {
		t.Run(kind, func(t *testing.T) {
			h.during(t)
			h.ramaria("up", "main", "--volume", kind)
			h.ramaria("sql", "main", "-e", "CREATE TABLE t (a INT); INSERT INTO t VALUES (7)")
			h.inNamespace(fmt.Sprintf(`
				mount --bind %[1]s %[2]s
				export RAMARIA_VOLUME=%[3]s
				ramaria ls
				ramaria run -- true
				ramaria up main
				ramaria branch main twin
				ramaria sql main -e 'SELECT COUNT(*) FROM t' && exit 1
				ramaria down --all --rm
				ramaria image rm --all
				ramaria volume rm %[3]s`, inner, h.places.State, kind), "-m", "-p", "-f", "--mount-proc")
			if got := h.ramaria("sql", "main", "-e", "SELECT a FROM t"); !strings.HasSuffix(got, "7") {
				t.Errorf("the rows are %q", got)
			}
			h.ramaria("down", "main", "--rm")
			h.ramaria("volume", "rm", kind)
		})
	}
}

// TestContainersShareAHome: the number of a process means another one in a container. What
// cannot be reached from there is refused.
func TestContainersShareAHome(t *testing.T) {
	t.Parallel()
	h := newSharedHouse(t)
	h.ramaria("up", "main")
	defer h.ramaria("volume", "rm", "shm", "--force")
	for _, command := range []string{"down main", "down main --rm", "down --all --rm", "volume rm shm --force", "up main --fresh"} {
		out := h.inNamespace("ramaria "+command+" 2>&1 && exit 1; true", "-m", "-p", "-f", "--mount-proc")
		if !strings.Contains(out, "its supervisor runs where it cannot be reached from here") || !strings.Contains(out, "\nhint: ") {
			t.Errorf("%s says %s", command, out)
		}
		if got := h.ramaria("sql", "main", "-e", "SELECT 1"); !strings.HasSuffix(got, "1") {
			t.Fatalf("after %s it says %q", command, got)
		}
	}
	// Commands that do not need the process work.
	if out := h.inNamespace("ramaria sql main -e 'SELECT 6*7'", "-m", "-p", "-f", "--mount-proc"); !strings.Contains(out, "42") {
		t.Errorf("it says %s", out)
	}
}

// TestOtherMountNamespace: what is mounted there is not mounted here, and the other way
// round. A command that does not see a volume must not take its mount point away.
func TestOtherMountNamespace(t *testing.T) {
	t.Parallel()
	h := newSharedHouse(t)
	for _, kind := range ramKinds(t)[1:] {
		t.Run(kind, func(t *testing.T) {
			h.during(t)
			before := exec.CommandContext(t.Context(), "unshare", "-m", "--propagation", "private", "sh", "-c", "echo; read x")
			in, err := before.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := before.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := before.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { in.Close(); _ = before.Wait() }()
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			h.ramaria("up", "main", "--volume", kind)
			there := func(args ...string) {
				cmd := exec.CommandContext(t.Context(), "nsenter", append([]string{"-m", "-t", fmt.Sprint(before.Process.Pid), filepath.Join(binDir, "ramaria")}, args...)...)
				cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%q: %v: %s", args, err, out)
				}
			}
			there("ls")
			there("volume", "ls")
			if got := h.ramaria("sql", "main", "-e", "SELECT 1"); !strings.HasSuffix(got, "1") {
				t.Errorf("it says %q", got)
			}
			if got := h.ramaria("ls"); !strings.Contains(got, "running") {
				t.Errorf("ls says %q", got)
			}
			h.ramaria("down", "main", "--rm")
			h.ramaria("volume", "rm", kind)
		})
	}
}
