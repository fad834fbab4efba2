package pool_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// timed is a dump with an event that fires every second and others that do not, with settings of
// their own.
const timed = "CREATE DATABASE timed; USE timed;\n" +
	"CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, a varchar(20));\n" +
	"SET sql_mode = 'ANSI_QUOTES'; SET NAMES latin1; SET time_zone = '+03:00';\n" +
	"CREATE DEFINER = CURRENT_USER EVENT `ev ON COMPLETION PRESERVE ENABLE` ON SCHEDULE EVERY 1 SECOND COMMENT ' ENABLE DO ' DO INSERT INTO t (a) VALUES ('x');\n" +
	"SET NAMES utf8mb4; SET sql_mode = '';\n" +
	"CREATE EVENT off ON SCHEDULE EVERY 1 SECOND ON COMPLETION PRESERVE DISABLE DO DELETE FROM t;\n" +
	"CREATE EVENT elsewhere ON SCHEDULE EVERY 1 SECOND DISABLE ON SLAVE DO DELETE FROM t;\n" +
	"CREATE EVENT soon ON SCHEDULE AT NOW() + INTERVAL 4 SECOND DO SET @a = 1;\n"

// events are those of a database, as SHOW CREATE EVENT says, with their settings.
func (h *house) events(name string) string {
	h.t.Helper()
	rows, err := h.root.Query("SELECT event_name FROM information_schema.events WHERE event_schema = ? AND event_name <> 'soon' ORDER BY event_name", name)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var event string
		if err := rows.Scan(&event); err != nil {
			h.t.Fatal(err)
		}
		var same, mode, zone, create, client, collation, database string
		if err := h.root.QueryRow("SHOW CREATE EVENT "+name+".`"+event+"`").Scan(&same, &mode, &zone, &create, &client, &collation, &database); err != nil {
			h.t.Fatal(err)
		}
		b.WriteString(strings.Join([]string{mode, zone, create, client, collation, database}, "|") + "\n")
	}
	if err := rows.Err(); err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

func (h *house) count(name string) (n int) {
	h.t.Helper()
	if err := h.root.QueryRow("SELECT COUNT(*) FROM " + name + ".t").Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// TestEvents: events fire in a lease as on a plain server, and neither in its template nor in spare
// clones; the template's are as they were when it is none any more.
func TestEvents(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "SET GLOBAL event_scheduler = OFF")
		h.srv.Load(t, timed)
		h.exec(h.root, "DELETE FROM timed.t")
		plain := h.events("timed")
		h.limit(64, 2)
		h.put("timed")
		h.exec(h.root, "SET GLOBAL event_scheduler = ON")
		if got := h.events("timed"); got != strings.Replace(plain, "PRESERVE ENABLE COMMENT", "PRESERVE DISABLE COMMENT", 1) {
			t.Errorf("the template has:\n%s\nwant, but disabled:\n%s", got, plain)
		}
		fires := func(name string, db *sql.DB) {
			t.Helper()
			if got := h.events(name); got != plain {
				t.Errorf("%s has:\n%s\nwant:\n%s", name, got, plain)
			}
			h.soon("an event in "+name, func() bool { return h.count(name) > 0 })
			h.exec(db, "DELETE FROM t")
		}
		l, db := h.lease(pool.Request{Template: "timed"})
		named, inNamed := h.lease(pool.Request{Template: "timed", Name: "named"})
		fires(l.Name, db)
		fires(named.Name, inNamed)
		h.stocked(2)
		time.Sleep(2500 * time.Millisecond)
		for _, name := range append(h.databases("timed"), "timed") {
			if name != l.Name && h.count(name) > 0 {
				t.Errorf("events fired in %s", name)
			}
		}
		// After each kind of reset.
		for _, text := range []string{"DELETE FROM t", "DROP EVENT `ev ON COMPLETION PRESERVE ENABLE`\nCREATE EVENT other ON SCHEDULE EVERY 1 SECOND DO SET @a = 1", "DROP DATABASE " + l.Name} {
			h.try(h.root, "USE "+l.Name+"\n"+text)
			if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
				t.Error(err)
			}
			fires(l.Name, db)
		}
		// The next who has its database.
		h.exec(db, "DROP EVENT off")
		if err := h.Drop(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		h.soon("three spare ones", func() bool { return h.Templates()[0].Spare == 3 })
		// One that was under way is noticed, as whatever happens to a spare clone.
		before := map[string]int{}
		for _, name := range h.databases("timed_") {
			before[name] = h.count(name)
		}
		time.Sleep(1500 * time.Millisecond)
		for name, n := range before {
			if name != named.Name && (h.count(name) != n || strings.Contains(h.events(name), "PRESERVE ENABLE COMMENT")) {
				t.Errorf("%s, which is not leased: %d rows, then %d, %s", name, n, h.count(name), h.events(name))
			}
		}
		l, db = h.lease(pool.Request{Template: "timed"})
		fires(l.Name, db)

		// A log that is lost, and another run, leave the template what it was.
		h.exec(h.root, h.resetLogs())
		l2, db2 := h.lease(pool.Request{Template: "timed"})
		fires(l2.Name, db2)
		h.Close()
		h.open()
		h.limit(64, 0)
		if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
			t.Error(err)
		}
		fires(l.Name, db)
		for _, name := range []string{l.Name, l2.Name, named.Name} {
			if err := h.Drop(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
		if err := h.DeleteTemplate("timed"); err != nil {
			t.Fatal(err)
		}
		h.soon("the events of what was a template", func() bool { return h.events("timed") == plain })
		h.soon("an event in it", func() bool { return h.count("timed") > 0 })
	})
}

// TestPastEvent: an event that the server keeps when its time is over is disabled then, in clones too, whatever is done to
// them after that.
func TestPastEvent(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, statement := range []string{
			"SET GLOBAL event_scheduler = ON", "CREATE DATABASE past", "CREATE TABLE past.t (id int PRIMARY KEY)",
			"CREATE EVENT past.once ON SCHEDULE AT NOW() + INTERVAL 5 SECOND ON COMPLETION PRESERVE DO SET @a = 1",
		} {
			h.exec(h.root, statement)
		}
		disabled := func(name string) bool {
			var status string
			if err := h.root.QueryRowContext(t.Context(), "SELECT status FROM information_schema.events WHERE event_schema = ?", name).Scan(&status); err != nil {
				t.Fatalf("the event of %s: %v", name, err)
			}
			return status == "DISABLED"
		}
		h.put("past")
		l, db := h.lease(pool.Request{Template: "past"})
		h.soon("its time is over", func() bool { return disabled(l.Name) })
		for _, change := range []string{"INSERT INTO t VALUES (1)", "DROP EVENT once", "DROP TABLE t"} {
			h.exec(db, change)
			if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
				t.Errorf("a reset after %s: %v", change, err)
			}
			h.soon("it is disabled after "+change, func() bool { return disabled(l.Name) }) // by the scheduler, where it is made again
		}
		if res, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil || res.Way != reset.Noop {
			t.Errorf("a reset of nothing: %v by %s", err, res.Way)
		}
		other, _ := h.lease(pool.Request{Template: "past", Name: "past_other"})
		h.soon("a new clone has it disabled", func() bool { return disabled(other.Name) })
	})
}

// TestEventsAtOnce makes a database cease to be a template and become one again at once, over and
// over: its events are neither enabled while it is one, nor forgotten.
func TestEventsAtOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.exec(h.root, "SET GLOBAL event_scheduler = OFF")
		h.srv.Load(t, timed)
		plain := h.events("timed")
		h.limit(64, 0)
		h.put("timed")
		paused := h.events("timed")
		for range 30 {
			if err := h.DeleteTemplate("timed"); err != nil {
				t.Fatal(err)
			}
			h.put("timed")
			if got := h.events("timed"); got != paused {
				t.Fatalf("the template has:\n%s\nwant:\n%s", got, paused)
			}
		}
		if err := h.DeleteTemplate("timed"); err != nil {
			t.Fatal(err)
		}
		h.soon("the events of what was a template", func() bool { return h.events("timed") == plain })
	})
}
