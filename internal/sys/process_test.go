package sys

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRunDelay: of two processes that want the same processor, each waits for about half of the time.
func TestRunDelay(t *testing.T) {
	var first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &first); err != nil {
		t.Fatal(err)
	}
	n := 0
	for !first.IsSet(n) {
		n++
	}
	first.Zero()
	first.Set(n)
	var pids []int
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &first); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, cmd.Process.Pid)
	}
	before := RunDelay(pids[0])
	time.Sleep(400 * time.Millisecond)
	if d := RunDelay(pids[0]) - before; d < 50*time.Millisecond {
		t.Errorf("it waited %s", d)
	}
	if d := RunDelay(1 << 30); d != 0 {
		t.Errorf("a process that is not there waited %s", d)
	}
}
