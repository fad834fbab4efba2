package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// smallLab is a lab on a machine with so many MB of memory.
func smallLab(t *testing.T, megabytes string) *Lab {
	t.Helper()
	l := workloadLab(t, Options{})
	l.Home, l.Host = t.TempDir(), hostWith(t, "")
	text := "MemTotal: " + megabytes + "000 kB\nMemAvailable: " + megabytes + "000 kB\n"
	if err := os.WriteFile(filepath.Join(l.Host.Root, "proc", "meminfo"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMemoryIsCountedOnce: servers are in what a scenario takes, and not in what is left beside.
func TestMemoryIsCountedOnce(t *testing.T) {
	l := smallLab(t, "1000")
	for size, fits := range map[int64]bool{700e6: true, 900e6: false} {
		if err := l.Room(bench.Scenario{Memory: size}); (err == nil) != fits {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestRowsWithoutRoom: what a row alone needs refuses no scenario: the row says what is missing.
func TestRowsWithoutRoom(t *testing.T) {
	l := smallLab(t, "1000")
	for _, s := range []bench.Scenario{l.FleetScenario(), l.MemoryScenario()} {
		err := s.Cases[0].Prepare(t.Context())
		if refused := l.Room(s); refused != nil || !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "of memory are available") {
			t.Errorf("%s: refused %v, row %v", s.Name, refused, err)
		}
	}
	huge := room{shm: 1 << 60}
	if err := l.fits(huge); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "remount,size=") || l.roomIfFits(huge) != (room{}) {
		t.Errorf("%v, and it takes %+v", err, l.roomIfFits(huge))
	}
	if little := (room{memory: 1, shm: 1}); l.fits(little) != nil || l.roomIfFits(little) != little {
		t.Errorf("there is room for 1 byte: %v", l.fits(little))
	}
	if _, _, err := l.inShmOf(huge.shm)(t.Context()); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "has ") {
		t.Errorf("files: %v", err)
	}
}

// TestBegin: a scenario finds no images of those before, and is refused when the room has gone.
func TestBegin(t *testing.T) {
	l := ramariaLab(t, servertest.Servers[0])
	if _, err := l.Build(t.Context(), "shm"); err != nil {
		t.Fatal(err)
	}
	if text, err := l.Run(t.Context(), "image", "ls", "--json"); err != nil || !strings.Contains(text, "shm") {
		t.Fatalf("images: %s, %v", text, err)
	}
	if err := l.Begin(t.Context(), bench.Scenario{Name: "x"}); err != nil {
		t.Error(err)
	}
	if text, err := l.Run(t.Context(), "image", "ls", "--json"); err != nil || strings.Contains(text, "shm") {
		t.Errorf("images: %s, %v", text, err)
	}
	if err := l.Begin(t.Context(), bench.Scenario{Name: "x", Memory: 1 << 60}); err == nil || !strings.Contains(err.Error(), "of memory are available") {
		t.Errorf("no room: %v", err)
	}
}
