package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestComputed refuses columns that a clone would compute in another time zone.
func TestComputed(t *testing.T) { servertest.Each(t, testComputed) }

func testComputed(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	srv.Load(t, `CREATE DATABASE zones; USE zones;
CREATE TABLE moment (id int PRIMARY KEY, ts timestamp NULL, day date GENERATED ALWAYS AS (date(ts)) STORED, later date GENERATED ALWAYS AS (date(ts)) VIRTUAL, n int GENERATED ALWAYS AS (id + 1) STORED);
SET time_zone = SYSTEM; INSERT INTO moment (id, ts) VALUES (1, '2020-01-01 12:00:00'), (2, NULL), (3, '2020-01-01 00:30:00');
`)
	shape := read(t, conn, "zones")
	if err := shape.CheckComputed(t.Context(), conn); err != nil {
		t.Error(err)
	}
	if _, err := shape.Clone(t.Context(), conn, "c"); err != nil {
		t.Fatal(err)
	}
	same(t, srv, "zones", "c")
	refused := 0 // a time zone of the machine's own may lie beside one of them
	for zone, ts := range map[string]string{"+12:00": "2020-01-01 00:10:00", "-12:00": "2020-01-01 23:50:00"} {
		run(t, conn, "SET time_zone = '"+zone+"'; INSERT INTO zones.moment (id, ts) VALUES (9, '"+ts+"'); SET time_zone = SYSTEM")
		if err := shape.CheckComputed(t.Context(), conn); err != nil {
			refused++
			if !errors.Is(err, template.ErrUnclonable) || !strings.Contains(err.Error(), "table moment: its column day") || !strings.Contains(err.Error(), "hint: ") {
				t.Errorf("computed at %s: %v", zone, err)
			}
		}
		run(t, conn, "DELETE FROM zones.moment WHERE id = 9")
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}
