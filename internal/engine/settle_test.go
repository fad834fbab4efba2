package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

type notes struct {
	Listener
	mu   sync.Mutex
	text []string
}

func (n *notes) Note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(n.text, text)
}

// TestUpWaits: an instance that another command began to start, and was killed, is not there before its server
// answers.
func TestUpWaits(t *testing.T) {
	dir := t.TempDir()
	heard := &notes{}
	e := &Engine{Registry: instance.Registry{Dir: filepath.Join(dir, "state")}, Listener: heard}
	i := &instance.Instance{
		Record: instance.Record{Format: instance.Format, Name: "shop", Volume: "disk", Dir: filepath.Join(dir, "shop")},
		Made:   instance.Made{Server: &server.Server{Flavour: server.MariaDB}},
	}
	if err := errors.Join(os.Mkdir(i.Dir, 0o700), os.Mkdir(e.Registry.Dir, 0o700), i.Save(), e.Registry.Put(&i.Record)); err != nil {
		t.Fatal(err)
	}
	supervisor, err := sys.TryLock(i.LockPath(), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer supervisor.Unlock()
	enter := func(p instance.Phase) {
		t.Helper()
		if err := i.SaveState(instance.State{Phase: p, Since: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	enter(instance.Starting)
	found := make(chan error, 1)
	look := func() {
		_, err := e.existing(t.Context(), UpRequest{Name: "shop", Spec: instance.Spec{Volume: "disk"}})
		found <- err
	}
	go look()
	select {
	case err := <-found:
		t.Fatalf("it is there while it starts: %v", err)
	case <-time.After(settleFirst + 200*time.Millisecond):
	}
	enter(instance.Running)
	if err := <-found; err != nil {
		t.Fatal(err)
	}
	heard.mu.Lock()
	said := strings.Join(heard.text, "\n")
	heard.mu.Unlock()
	if !strings.HasPrefix(said, "instance shop is starting, for ") {
		t.Errorf("it says %q", said)
	}

	// One that stops is not taken for one that runs, and what is interrupted ends.
	enter(instance.Stopping)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.existing(ctx, UpRequest{Name: "shop", Spec: instance.Spec{Volume: "disk"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it stops: %v", err)
	}
}

// TestStartIsTold: a start that takes long says so, and what it waits for.
func TestStartIsTold(t *testing.T) {
	heard := &notes{}
	r := &instance.Record{Name: "shop", Dir: t.TempDir()}
	supervisor, err := sys.TryLock(r.LockPath(), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer supervisor.Unlock()
	began := time.Now()
	told := &startTold{e: &Engine{Listener: heard}, r: r, began: began, again: began.Add(settleAgain)}
	for second := range 40 {
		s := instance.State{Phase: instance.Starting}
		if second >= 15 {
			s.Warnings = []string{"it waits for room"}
		}
		if err := r.SaveState(s); err != nil {
			t.Fatal(err)
		}
		told.look(began.Add(time.Duration(second) * time.Second))
	}
	const slow = "instance shop: its server does not answer yet, after %ss\nhint: ramaria logs shop shows what it does"
	want := []string{strings.Replace(slow, "%s", "10", 1), "instance shop: it waits for room", strings.Replace(slow, "%s", "25", 1), strings.Replace(slow, "%s", "35", 1)}
	if diff := cmp.Diff(want, heard.text); diff != "" {
		t.Error(diff)
	}
}
