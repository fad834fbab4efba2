package adopt

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
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

// TestOptionsAsTheService: the program of a service is run as the service, whoever adopts it.
func TestOptionsAsTheService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: only root may run a process of another account")
	}
	const other = 65534
	dir, err := os.MkdirTemp("/tmp", "ramaria-adopt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "mysqld")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, []byte("#!/bin/sh\necho would have been started with the arguments:\necho --uid=$(id -u) --gid=$(id -g)\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint32{0, other} {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		got, err := Process{PID: cmd.Process.Pid, Exe: program, Dir: "/"}.Options(t.Context())
		want := strconv.Itoa(int(id))
		if err != nil || len(got) != 2 || got[0].Value != want || got[1].Value != want {
			t.Errorf("a server of account %d: %+v, %v", id, got, err)
		}
	}
}
