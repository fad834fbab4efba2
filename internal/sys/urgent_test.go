package sys

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func policyOf(t *testing.T, tid int) uint32 {
	t.Helper()
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Error(err)
		return 0
	}
	return attr.Policy
}

// onThread runs a test on a thread that ends with it.
func onThread(f func(tid int)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f(unix.Gettid())
	}()
	<-done
}

// TestUrgent: a thread is urgent until the end, and what it starts never; one without the right to it
// stays as it is.
func TestUrgent(t *testing.T) {
	onThread(func(tid int) {
		u := MakeUrgent()
		if policyOf(t, tid) != schedRR {
			u.End()
			t.Log("SKIPPED, UNTESTED: no urgent threads here")
			return
		}
		onThread(func(other int) {
			if policyOf(t, other) != 0 {
				t.Error("another thread is urgent too")
			}
		})
		u.End()
		if policyOf(t, tid) != 0 {
			t.Error("it is urgent after its end")
		}
	})
}

// TestUrgentIsBounded: a thread that does not sleep is urgent no longer.
// TestMayBeUrgent: to ask leaves no urgent thread behind.
func TestMayBeUrgent(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	u := MakeUrgent()
	first := u.First
	u.End()
	if got := MayBeUrgent(); got != first {
		t.Errorf("it may be: %t, and it was: %t", got, first)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Policy == schedRR {
			t.Errorf("thread %d is urgent still", tid)
		}
	}
}

func TestUrgentIsBounded(t *testing.T) {
	onThread(func(tid int) {
		u := MakeUrgent()
		defer u.End()
		if policyOf(t, tid) != schedRR {
			t.Log("SKIPPED, UNTESTED: no urgent threads here")
			return
		}
		for end := time.Now().Add(2 * urgentLook); time.Now().Before(end); {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
		if policyOf(t, tid) != schedRR {
			t.Error("one that sleeps was made an ordinary one")
		}
		for end := time.Now().Add(10 * urgentLook); policyOf(t, tid) == schedRR && time.Now().Before(end); {
			runtime.KeepAlive(tid)
		}
		if policyOf(t, tid) != 0 {
			t.Error("it has not slept for long, and is urgent still")
		}
	})
}

// TestWaitForWrites: a wait ends with a write, soon and late.
func TestWaitForWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewFileWatch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Watch(path); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for i, after := range []time.Duration{0, soon / 2, 10 * soon, 0, soon / 2, 10 * soon} {
		w.Urgent = i > 2
		time.AfterFunc(after, func() {
			if _, err := f.WriteString("x"); err != nil {
				t.Error(err)
			}
		})
		n := 0
		for began := time.Now(); n == 0; {
			if err := w.Wait(time.Minute); err != nil { // it may return early
				t.Fatal(err)
			}
			if n, _ = ReadNow(f, b, int64(i)); time.Since(began) > 30*time.Second {
				break
			}
		}
		if n != 1 || b[0] != 'x' {
			t.Errorf("after %s: %d bytes are read", after, n)
		}
	}
	if err := w.Wait(10 * soon); err != nil {
		t.Error(err)
	}
}
