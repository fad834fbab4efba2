package adopt

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestAmong: a service with one server, and one with several, of which an adoption would end the others.
func TestAmong(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mysqld")
	sleep, err := exec.LookPath("sleep")
	if err == nil {
		sleep, err = filepath.EvalSymlinks(sleep)
	}
	if err != nil {
		t.Fatal(err)
	}
	// By a process of its own: a child of this one could have the file open for writing when it is to be run.
	if err := exec.CommandContext(t.Context(), "cp", sleep, program).Run(); err != nil {
		t.Fatal(err)
	}
	pids := []string{strconv.Itoa(os.Getpid())}
	if _, err := among(pids); !errors.Is(err, ErrNoServer) {
		t.Errorf("none: %v", err)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), program, "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		pids = append(pids, strconv.Itoa(cmd.Process.Pid))
	}
	if p, err := among(pids[:2]); err != nil || p.Exe != program {
		t.Errorf("one: %+v, %v", p, err)
	}
	if _, err := among(pids); !errors.Is(err, ErrSeveral) {
		t.Errorf("two: %v", err)
	}
}
