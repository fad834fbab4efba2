package sys

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFilterCalls(t *testing.T) {
	file := func(size int64) int {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		return int(f.Fd())
	}
	large, small := file(LeastRefusedMap), file(LeastRefusedMap-4096)
	const shared, both = unix.MAP_SHARED, unix.PROT_READ | unix.PROT_WRITE
	tests := []struct {
		name        string
		fd, size    int
		prot, flags int
		refused     bool
	}{
		{"large, shared, writable", large, LeastRefusedMap, both, shared, true},
		{"and as a validated mapping", large, LeastRefusedMap, both, unix.MAP_SHARED_VALIDATE, true},
		{"small", small, LeastRefusedMap - 4096, both, shared, false},
		{"private", large, LeastRefusedMap, both, unix.MAP_PRIVATE, false},
		{"read-only", large, LeastRefusedMap, unix.PROT_READ, shared, false},
		{"anonymous", -1, LeastRefusedMap, both, shared | unix.MAP_ANON, false},
	}
	results := make(chan []error)
	try := func(filtered bool) []error {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends here
			var errs []error
			if filtered {
				if err := FilterCalls(false, 0); err != nil {
					results <- []error{err}
					return
				}
			}
			for _, test := range tests {
				b, err := unix.Mmap(test.fd, 0, test.size, test.prot, test.flags)
				if err == nil {
					err = unix.Munmap(b)
				}
				errs = append(errs, err)
			}
			results <- errs
		}()
		return <-results
	}
	filtered := try(true)
	if len(filtered) == 1 {
		t.Skipf("SKIPPED, UNTESTED: %v", filtered[0])
	}
	for i, test := range tests {
		if refused := errors.Is(filtered[i], unix.ENODEV); refused != test.refused {
			t.Errorf("%s: %v, want refused %v", test.name, filtered[i], test.refused)
		}
	}
	for i, err := range try(false) {
		if err != nil {
			t.Errorf("without the filter, %s: %v", tests[i].name, err)
		}
	}
}

// TestUnsynced: a sync of what cannot be synced is an error, unless it is not made.
func TestUnsynced(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pipe[0]); unix.Close(pipe[1]) })
	for _, unsynced := range []bool{false, true} {
		results := make(chan []error)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends here
			if err := FilterCalls(unsynced, 0); err != nil {
				results <- []error{err}
				return
			}
			results <- []error{unix.Fsync(pipe[1]), unix.Fdatasync(pipe[1])}
		}()
		errs := <-results
		if len(errs) == 1 {
			t.Skipf("SKIPPED, UNTESTED: %v", errs[0])
		}
		for i, err := range errs {
			if (err == nil) != unsynced {
				t.Errorf("unsynced %v, call %d: %v", unsynced, i, err)
			}
		}
	}
}
