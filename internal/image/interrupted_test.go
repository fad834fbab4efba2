package image

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// afterContext ends when it has been asked often enough.
func afterContext(t *testing.T, asks int64) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var asked atomic.Int64 // the decoder has goroutines of its own
	return lookContext{ctx, func() {
		if asked.Add(1) == asks {
			cancel()
		}
	}}
}

// TestCancelled interrupts saving and restoring at every look at the context.
func TestCancelled(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	cancelled := 0
	for asked := int64(1); ; asked++ {
		_, err := s.Save(afterContext(t, asked), coldID)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("saving, look %d: %v", asked, err)
		}
		cancelled++
		if entries, _ := os.ReadDir(ColdIn(s.Places).Dir); len(entries) > 0 {
			t.Fatalf("saving, look %d: left %v", asked, entries)
		}
	}
	if cancelled < 20 {
		t.Errorf("saving was interrupted in %d places only", cancelled)
	}
	if err := s.Remove(t.Context(), coldID); err != nil {
		t.Fatal(err)
	}
	cancelled = 0
	for asked := int64(1); ; asked++ {
		l, err := s.Get(afterContext(t, asked), coldID, nil)
		if err == nil {
			l.Release()
			break
		}
		if _, ok := isDamaged(err); ok || !errors.Is(err, context.Canceled) {
			t.Fatalf("restoring, look %d: %v", asked, err)
		}
		cancelled++
		nothingLeft(t, s)
	}
	if cancelled < 3 {
		t.Errorf("restoring was interrupted in %d places only", cancelled)
	}
}

// TestKilledSaver: what it leaves is no image, and is swept; what a living one
// writes is not.
func TestKilledSaver(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	c := ColdIn(s.Places)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := sys.TryLock(c.lockPath(coldID), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.workPath(coldID), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.Sweep(t.Context())
	_, gone := os.Stat(c.workPath(coldID))
	if err := errors.Join(err, gone); err != nil {
		t.Errorf("a living saver's work was swept: %v", err)
	}
	if list, err := c.List(); len(list) > 0 || err != nil {
		t.Errorf("half a file is listed: %v, %v", list, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Save(ctx, coldID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("saved beside a living saver: %v", err)
	}
	if err := lock.Unlock(); err != nil { // killed
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(c.Dir); len(entries) > 0 {
		t.Errorf("left %v", entries)
	}
	// Without a sweep the next saver clears it away.
	if err := os.WriteFile(c.workPath(coldID), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	saveAndForget(t, s)
	nothingLeft(t, s)
	if l, err := s.Get(t.Context(), coldID, nil); err != nil {
		t.Error(err)
	} else {
		l.Release()
	}
}
