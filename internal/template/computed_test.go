package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
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

// TestComputedByMode refuses columns that a clone would compute otherwise by its sql_mode, and takes those that the
// server's own computes.
func TestComputedByMode(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, conn, _ := start(t, want)
		const mode, create = "TIME_TRUNCATE_FRACTIONAL", "CREATE TABLE modes.moment (id int PRIMARY KEY, t time(3), whole time GENERATED ALWAYS AS (t) STORED)"
		srv.Load(t, "CREATE DATABASE modes")
		if srv.Flavour == server.MariaDB {
			if _, err := conn.ExecContext(t.Context(), create); dbconn.ErrorNumber(err) != 1901 {
				t.Errorf("a column that depends on sql_mode: %v", err)
			}
			return
		}
		run(t, conn, create)
		run(t, conn, "SET GLOBAL sql_mode = '"+mode+"'; SET SESSION sql_mode = '"+mode+"'; INSERT INTO modes.moment (id, t) VALUES (1, '10:00:00.700'); SET GLOBAL sql_mode = DEFAULT; SET SESSION sql_mode = DEFAULT")
		shape := read(t, conn, "modes")
		if err := shape.CheckComputed(t.Context(), conn); !errors.Is(err, template.ErrUnclonable) || !strings.Contains(err.Error(), "table moment: its column whole") {
			t.Errorf("computed under %s: %v", mode, err)
		}
		// Sessions that begin under it compute the same.
		run(t, conn, "SET GLOBAL sql_mode = '"+mode+"'")
		db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		other, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := shape.CheckComputed(t.Context(), other); err != nil {
			t.Errorf("computed under the server's own %s: %v", mode, err)
		}
		if _, err := shape.Clone(t.Context(), other, "c"); err != nil {
			t.Fatal(err)
		}
		same(t, srv, "modes", "c")
	})
}
