package replay

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestTrapEventsComeOutDisabled: an applier disables the events that it makes.
func TestTrapEventsComeOutDisabled(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running, "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted")
		w.Kill()
		const status = "SELECT status FROM information_schema.events"
		j := w.job(t, w.logs(t))
		s := &session{Job: j, admin: dbconn.Login{User: adminUser(), Password: dbconn.NewPassword()}}
		err := s.prepare()
		for _, step := range []func(context.Context) error{s.layRelayLog, s.start, s.takeRelayLog, s.applyAll, s.forget, s.removeAdmin, s.stop} {
			if err == nil {
				err = step(t.Context())
			}
		}
		if err = errors.Join(err, s.clear()); err != nil {
			t.Fatal(err)
		}
		if got := query(t, servertest.StartOn(t, w.Server, j.DataDir, logging), status)[0]; got == "ENABLED" {
			t.Error("it is enabled without being put back")
		}
		got, _ := w.replay(t, w.logs(t))
		if got := query(t, got, status)[0]; got != "ENABLED" {
			t.Errorf("replayed: %s", got)
		}
	})
}

// TestEventsKeepCollation: what an event has of its database is from when it was made, whatever that was given since; and that
// stays as it is.
func TestEventsKeepCollation(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running,
			"ALTER DATABASE shop COLLATE utf8mb4_unicode_ci", "CREATE EVENT shop.before_it ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted", "CREATE EVENT shop.off ON SCHEDULE EVERY 1 DAY DISABLE DO DO 1",
			"ALTER DATABASE shop CHARACTER SET latin1 COLLATE latin1_german2_ci", "CREATE EVENT shop.after_it ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted",
		)
		if w.Flavour == server.MariaDB {
			exec(t, w.Running, "ALTER DATABASE shop COMMENT 'a shop'")
		}
		of := func(r *servertest.Running) []string {
			return append(query(t, r, "SELECT event_name, status, database_collation, collation_connection, definer FROM information_schema.events ORDER BY 1"), query(t, r, "SHOW CREATE DATABASE shop")...)
		}
		before := of(w.Running)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if diff := cmp.Diff(before, of(got)); diff != "" {
			t.Errorf("events and database (-before +replayed):\n%s", diff)
		}
	})
}

// TestEventsOfOtherCharacterSets: events whose names a client wrote in another character set are as they were.
func TestEventsOfOtherCharacterSets(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "SET NAMES latin1; CREATE EVENT shop.`\xfcber` ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted WHERE s = '\xe4';"+
			"CREATE EVENT shop.`\xf6ffnet` ON SCHEDULE EVERY 1 DAY DO DO 1; ALTER EVENT shop.`\xf6ffnet` RENAME TO shop.`\xf6ffnete` DISABLE; CREATE EVENT shop.`\xe4` ON SCHEDULE EVERY 1 DAY DO DO 1; DROP EVENT shop.`\xe4`;"+
			"SET NAMES utf8mb4; CREATE EVENT shop.`ürig` ON SCHEDULE EVERY 1 DAY DO DO 1")
		of := func(r *servertest.Running) []string {
			return query(t, r, "SELECT event_name, status, event_definition, character_set_client, collation_connection, definer FROM information_schema.events ORDER BY 1")
		}
		before := of(w.Running)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if diff := cmp.Diff(before, of(got)); diff != "" || len(before) != 3 {
			t.Errorf("events (-before +replayed):\n%s", diff)
		}
	})
}
