package sys

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// urgentNow reports whether a thread is urgent, and if so, before all ordinary ones.
func urgentNow(t *testing.T, tid int) (is, first bool) {
	t.Helper()
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Error(err)
		return false, false
	}
	first = attr.Policy == schedRR
	return first || attr.Nice == mostNice, first
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
		if is, _ := urgentNow(t, tid); !is {
			u.End()
			t.Log("SKIPPED, UNTESTED: no urgent threads here")
			return
		}
		onThread(func(other int) {
			if is, _ := urgentNow(t, other); is {
				t.Error("another thread is urgent too")
			}
		})
		// Beside others that take all processors it goes before them.
		ctx, cancel := context.WithCancel(t.Context())
		var others []*exec.Cmd
		for range 2 * runtime.NumCPU() {
			c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
			if err := c.Start(); err != nil {
				t.Error(err)
				break
			}
			others = append(others, c)
		}
		goesFirst := func(want bool) bool {
			for end := time.Now().Add(20 * urgentLook); time.Now().Before(end); {
				if _, first := urgentNow(t, tid); first == want {
					return true
				}
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e7}, nil)
			}
			return false
		}
		if !goesFirst(true) {
			t.Error("all processors are busy, and it does not go first")
		}
		cancel()
		for _, c := range others {
			_ = c.Wait() // it was killed
		}
		u.End()
		if is, _ := urgentNow(t, tid); is {
			t.Error("it is urgent after its end")
		}
	})
}

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
		if is, _ := urgentNow(t, tid); is {
			t.Errorf("thread %d is urgent still", tid)
		}
	}
}

// TestUrgentIsBounded: a thread that does not sleep is urgent no longer.
func TestUrgentIsBounded(t *testing.T) {
	onThread(func(tid int) {
		u := MakeUrgent()
		defer u.End()
		if is, _ := urgentNow(t, tid); !is {
			t.Log("SKIPPED, UNTESTED: no urgent threads here")
			return
		}
		for end := time.Now().Add(2 * urgentLook); time.Now().Before(end); {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
		if is, _ := urgentNow(t, tid); !is {
			t.Error("one that sleeps was made an ordinary one")
		}
		is := true
		for end := time.Now().Add(10 * urgentLook); is && time.Now().Before(end); {
			is, _ = urgentNow(t, tid)
		}
		if is {
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
