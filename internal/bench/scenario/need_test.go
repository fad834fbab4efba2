package scenario

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestMemoryIsCountedOnce: servers are in what a scenario takes, and not in what is left beside.
func TestMemoryIsCountedOnce(t *testing.T) {
	l := labtest.Small(t, "1000")
	for size, fits := range map[int64]bool{700e6: true, 900e6: false} {
		if err := l.Room(runner.Scenario{Memory: size}, false); (err == nil) != fits {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestRowsWithoutRoom: what a row alone needs refuses no scenario: the row says what is missing.
func TestRowsWithoutRoom(t *testing.T) {
	l := labtest.Small(t, "1000")
	huge := lab.Need{Shm: 1 << 60}
	if err := l.Fits(huge); !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "remount,size=") || l.NeedIfFits(huge) != (lab.Need{}) {
		t.Errorf("%v, and it takes %+v", err, l.NeedIfFits(huge))
	}
	if little := (lab.Need{Memory: 1, Shm: 1}); l.Fits(little) != nil || l.NeedIfFits(little) != little {
		t.Errorf("there is room for 1 byte: %v", l.Fits(little))
	}
	if _, _, err := inShmOf(l, huge.Shm)(t.Context()); !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "has ") {
		t.Errorf("files: %v", err)
	}
}

// TestBegin: a scenario finds no images of those before, and is refused when the room has gone.
func TestBegin(t *testing.T) {
	l := labtest.Real(t, servertest.Servers[0])
	if _, err := l.Build(t.Context(), "shm"); err != nil {
		t.Fatal(err)
	}
	if text, err := l.Run(t.Context(), "image", "ls", "--json"); err != nil || !strings.Contains(text, "shm") {
		t.Fatalf("images: %s, %v", text, err)
	}
	if err := l.Begin(t.Context(), runner.Scenario{Name: "x"}, false); err != nil {
		t.Error(err)
	}
	if text, err := l.Run(t.Context(), "image", "ls", "--json"); err != nil || strings.Contains(text, "shm") {
		t.Errorf("images: %s, %v", text, err)
	}
	if err := l.Begin(t.Context(), runner.Scenario{Name: "x", Memory: 1 << 60}, false); err == nil || !strings.Contains(err.Error(), "of memory are available") {
		t.Errorf("no room: %v", err)
	}
}
