package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// Servers of root's volumes on disk lie below its state directory, which others made
// for root alone before.
func TestServersPassThroughRootsState(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root runs servers under another account")
	}
	for name, made := range map[string]fs.FileMode{"new": 0, "closed": 0o700, "open": 0o755} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			state := filepath.Join(dir, "lib/ramaria")
			want := made | 0o711
			if made != 0 {
				if err := os.MkdirAll(state, made); err != nil {
					t.Fatal(err)
				}
			}
			e := &Engine{Host: host.Host{Root: "/"}, Places: host.Places{Cache: filepath.Join(dir, "cache/ramaria"), State: state, Disk: filepath.Join(state, "volumes/disk")}}
			if err := e.makePlaces(); err != nil {
				t.Fatal(err)
			}
			fi, err := os.Stat(state)
			if err != nil {
				t.Fatal(err)
			}
			if got := fi.Mode().Perm(); got != want {
				t.Errorf("state directory has mode %o, want %o", got, want)
			}
		})
	}
}
