package numbers

import (
	"context"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TestFlushPool: the pages that a server has in its pool are written, and its settings are as
// before.
func TestFlushPool(t *testing.T) {
	l := realLab(t)
	disk, err := lab.PlaceNamed(lab.PlaceDisk)
	if err != nil {
		t.Fatal(err)
	}
	s := &numbersServer{PlacedServer: l.NewServer(disk, "flush")}
	t.Cleanup(func() {
		if err := s.end(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	settings := func() (list [4]string) {
		row := s.db.QueryRowContext(t.Context(), "SELECT @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")
		if err := row.Scan(&list[0], &list[1], &list[2], &list[3]); err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := settings()
	work := func() error {
		if err := s.create(t.Context()); err != nil {
			return err
		}
		return s.fill(t.Context(), numbersOf(20_000))
	}
	dirty := func() int64 {
		n, _, err := dbconn.DirtyPages(t.Context(), s.db)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var held int64
	written, err := s.CountFlushed(t.Context(), func() error {
		defer func() { held = dirty() }()
		return work()
	})
	if err != nil {
		t.Fatal(err)
	}
	if held < 100 {
		t.Fatalf("%d pages were dirty: there was nothing to flush", held)
	}
	if n := dirty(); n > held/2 {
		t.Errorf("%d pages are dirty after all, of %d", n, held)
	}
	// The server may have begun before it was told, but not to write half of them.
	const page = 16 << 10
	if least := held * page / 2; written < least {
		t.Errorf("%d bytes were written with %d pages of the pool", written, held)
	}
	if after := settings(); after != before {
		t.Errorf("settings are %v, and were %v", after, before)
	}
}
