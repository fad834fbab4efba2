package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestSpawn lets shell commands play the supervisor.
func TestSpawn(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         string // in the error; "" for none
	}{
		{"ready", `echo '{"ok":true}' >&3`, ""},
		{"reports an error with a hint", `printf '{"error":"start instance a: no\\nhint: try b"}' >&3; exit 1`, "start instance a: no\nhint: try b"},
		{"dies without a word", `exit 3`, "start supervisor: it died"},
		{"dies with a word", `echo 'ERROR of its own' >&2; exit 3`, "ERROR of its own"},
		{"is killed", `kill -9 $$`, "start supervisor: it died"},
		{"reports half", `printf '{"ok":' >&3; exit 0`, "start supervisor: it died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &instance.Instance{Record: instance.Record{Name: "a", Dir: t.TempDir()}}
			err := Spawn(t.Context(), i, []string{"/bin/sh", "-c", c.script})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSpawnInterrupted: who is no longer waited for is told to end.
func TestSpawnInterrupted(t *testing.T) {
	dir := t.TempDir()
	i := &instance.Instance{Record: instance.Record{Name: "a", Dir: dir}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	err := Spawn(ctx, i, []string{"/bin/sh", "-c", `trap 'touch "$0/told"; exit' TERM; touch "$0/ready"; while :; do sleep 0.01; done`, dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "told")); err != nil {
		t.Errorf("it was not told, or not waited for: %v", err)
	}
}
