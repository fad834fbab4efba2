package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestRemoveWaitsForDevices: a zram device that is in use when its volume is removed is not left
// behind by a lab, whose home no command knows afterwards.
func TestRemoveWaitsForDevices(t *testing.T) {
	dir := t.TempDir()
	l := &Lab{Dir: dir, Home: filepath.Join(dir, "home"), Exe: script(t, "exit 0"), Host: host.Host{Root: "/"}}
	if err := os.Mkdir(l.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	v, err := l.OpenVolume(t.Context(), volume.Zram)
	if errors.Is(err, volume.ErrUnfit) || os.Geteuid() != 0 {
		t.Skip("SKIPPED: no zram volume here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	holder, err := os.Open(v.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Destroy(t.Context(), true); err != nil { // as ramaria volume rm --all does
		t.Fatal(err)
	}
	record := filepath.Dir(v.Dir())
	if _, err := os.Lstat(record); err != nil {
		t.Fatalf("the device was not in use: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { holder.Close() })
	if err := l.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(record); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", record, err)
	}
}
