package sys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held := func(want bool) {
		t.Helper()
		if got, err := Held(path); err != nil || got != want {
			t.Errorf("Held: %v, %v; want %v", got, err, want)
		}
	}
	held(false) // absent
	l, err := TryLock(path, Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	for _, mode := range []LockMode{Shared, Exclusive} {
		if _, err := TryLock(path, mode); !errors.Is(err, ErrLocked) {
			t.Errorf("second lock: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waiting := 0
	if _, err := Lock(ctx, path, Shared, func() { waiting++ }); !errors.Is(err, context.DeadlineExceeded) || waiting != 1 {
		t.Errorf("waiting lock: %v, told %d times", err, waiting)
	}
	if err := errors.Join(l.Unlock(), l.Unlock()); err != nil {
		t.Error(err)
	}
	held(false)

	a, errA := TryLock(path, Shared)
	b, errB := TryLock(path, Shared)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal("two shared locks:", err)
	}
	held(false) // not exclusively
	if err := errors.Join(a.Unlock(), b.UnlockRemove(), b.UnlockRemove(), (*FileLock)(nil).Unlock()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestLockExcludes lets many goroutines take, remove and retake one lock: a lock on a file
// that another has removed must not count.
func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var inside, most int
	var mu sync.Mutex
	enter := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		inside += by
		most = max(most, inside)
	}
	for range 4 {
		wg.Go(func() {
			for range 5 {
				l, err := Lock(t.Context(), path, Exclusive, nil)
				if err != nil {
					t.Error(err)
					return
				}
				enter(1)
				enter(-1)
				if err := l.UnlockRemove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
}

// TestProbesDoNotDisturb: a process that looks whether a lock is held must not keep
// another from taking it. That it takes no more than probePatience is true of a machine that lets each process run.
func TestProbesDoNotDisturb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := Held(path); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Microsecond)
			}
		})
	}
	for range 2000 {
		l, err := tryLock(path, Exclusive, time.Minute)
		if err != nil {
			t.Error(err)
			break
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

// TestTryLockPatience: who holds the lock exclusively is believed at once.
func TestTryLockPatience(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, c := range []struct {
		held LockMode
		want time.Duration
	}{{Exclusive, 0}, {Shared, probePatience}} {
		synctest.Test(t, func(t *testing.T) {
			l, err := TryLock(path, c.held)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = TryLock(path, Exclusive)
			if took := time.Since(began); !errors.Is(err, ErrLocked) || took != c.want {
				t.Errorf("held %d: %v after %s", c.held, err, took)
			}
			if err := l.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLockRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "lock")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(link, Exclusive); err == nil {
		t.Error("a symbolic link was followed")
	}
}
