package sys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHasOpen: of a process that may not be looked at nobody knows that it has a file open: its number may mean another one in
// another container.
func TestHasOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if !HasOpen(os.Getpid(), path) {
		t.Error("a file that is open is not")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if HasOpen(os.Getpid(), path) {
		t.Error("a file that is closed is open")
	}
	if HasOpen(1<<22, path) {
		t.Error("a process that is not there has it open")
	}
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)); err != nil {
		t.Fatal(err)
	}
	open := make(chan bool)
	go func() { // as another user, in a thread that ends with it
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			_ = unix.Setfsuid(65534)
		}
		open <- HasOpen(1, path)
	}()
	if <-open {
		t.Error("a process of another user, which may not be looked at, is said to have it open")
	}
}
