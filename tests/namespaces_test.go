package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestHomeElsewhere: a home that only its running servers see is no home that was removed. What is told of its volume
// does no harm there, and is refused where it would.
func TestHomeElsewhere(t *testing.T) {
	t.Parallel()
	h := newSharedHouse(t)
	for name, flags := range map[string][]string{"mounts of its own": {"-m"}, "processes of its own": {"-m", "-p", "-f", "--mount-proc"}} {
		t.Run(name, func(t *testing.T) {
			h.during(t)
			place, err := os.MkdirTemp("", "rn-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(place) })
			home := filepath.Join(place, "home")
			cmd := exec.CommandContext(t.Context(), "unshare", append(flags, "sh", "-euc", `
				mount -t tmpfs -o mode=755 none `+place+`
				mkdir `+home+`
				export RAMARIA_HOME=`+home+`
				ramaria up main --volume shm --server `+h.daemon()+` > /dev/null
				ramaria sql main -e 'CREATE TABLE t (a INT); INSERT INTO t VALUES (7)'
				echo ready
				read line || true
				ramaria sql main -e 'SELECT a FROM t'
				ramaria down --all --rm
				ramaria volume rm shm`)...)
			cmd.Env = append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "RAMARIA_NO_FETCH=1")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var said talk
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := func() { in.Close(); _ = cmd.Wait() }
			t.Cleanup(ended)
			h.until("the other home has a server", func() bool { return strings.Contains(said.String(), "ready\n") })

			list := h.ramaria("volume", "ls", "--all-homes")
			at := regexp.MustCompile(regexp.QuoteMeta(home) + ` \(elsewhere\) +(\S+)`).FindStringSubmatch(list)
			if at == nil {
				t.Fatalf("volume ls says %s", list)
			}
			doctor, _, _ := h.try("doctor")
			_, finding, found := strings.Cut(doctor, at[1]+" takes ")
			if lines := strings.SplitN(finding, "\n", 3); !found || len(lines) < 2 || strings.TrimSpace(lines[1]) != "-> there: ramaria --home "+home+" volume rm shm" {
				t.Errorf("doctor says %s", doctor)
			}
			if _, talk, err := h.try("volume", "rm", at[1], "--force"); err == nil || !strings.Contains(talk, "of another container or chroot\nhint: there: ramaria --home "+home) {
				t.Errorf("volume rm: %v: %s", err, talk)
			}
			if _, err := in.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "\n7\n") {
				t.Errorf("its server, after that: %v: %s", err, said.String())
			}
		})
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
