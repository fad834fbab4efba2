package cli

import (
	"bytes"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lockedBuffer is written to by another goroutine.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestHeed: the first signal ends the context, and a second one, as of who presses Ctrl-C twice, is
// answered and nothing else: what was begun is undone.
func TestHeed(t *testing.T) {
	// A shell without job control has what it starts in the background ignore the signal.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT)
	defer signal.Stop(caught)
	var said lockedBuffer
	ctx, stop := heed(&said)
	defer stop()
	interrupt := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	select {
	case <-ctx.Done():
	case <-time.After(4 * time.Minute):
		t.Fatal("the first signal did not end the context")
	}
	if said.String() != "" {
		t.Errorf("it says %q at the first signal", said.String())
	}
	time.Sleep(50 * time.Millisecond) // in which a handler of only one signal lets go of the next
	interrupt()
	const want = "ramaria: cleaning up; once more ends at once, and leaves what is there\n"
	for end := time.Now().Add(4 * time.Minute); said.String() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it says %q at the second signal", said.String())
		}
	}
}
