package sys_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestMayBeMountedIn asks for a directory on which something is mounted in another namespace, and
// for one with nothing, of which no more is to be feared: its name alone, which the kernel gives
// again, says nothing.
func TestMayBeMountedIn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: only root sees the mounts of others")
	}
	// The parent's name has what the list of mounts writes in another way.
	full, empty := filepath.Join(t.TempDir(), "a b", "full"), filepath.Join(t.TempDir(), "a b", "empty")
	for _, dir := range []string{full, empty} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "sh", "-euc", `mount -t tmpfs none "$1"; readlink /proc/self/ns/mnt; read end`, "sh", full)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: unshare: %v", err)
	}
	name, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimSpace(name)
	if !sys.MayBeMountedIn(name, full) {
		t.Error("what is mounted there is not seen")
	}
	// In a container the processes of others cannot be seen, so that any of them may have something mounted.
	here, err := os.Readlink("/proc/self/ns/pid")
	contained := err != nil || here != sys.FirstPIDNamespace
	if got := sys.MayBeMountedIn(name, empty); got != contained {
		t.Errorf("on a directory with nothing something may be mounted: %t, in a container: %t", got, contained)
	}
	_ = in.Close() // it ends then
	_ = cmd.Wait() // as it ends is not of interest
	if got := sys.MayBeMountedIn(name, full); got != contained {
		t.Errorf("a namespace that is gone is feared: %t, in a container: %t", got, contained)
	}
}
