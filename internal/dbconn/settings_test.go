package dbconn_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSessionsSetWhatTheyDependOn has a server begin sessions with the oddest values that there are: those of ours
// must be as before. The control are sessions that set nothing: of those each of these values must be another.
func TestSessionsSetWhatTheyDependOn(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		kinds := map[string]func() (*sql.DB, error){
			"own":      func() (*sql.DB, error) { return dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "") },
			"unlogged": func() (*sql.DB, error) { return srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login) },
			"loading":  func() (*sql.DB, error) { return dbconn.OpenLoading(srv.Endpoint.Socket, srv.Endpoint.Login, "") },
		}
		before := map[string]map[string]string{}
		bare := func() (*sql.DB, error) { return dbconn.OpenBare(srv.Endpoint.Socket, srv.Endpoint.Login) }
		usual := sessionSettings(t, bare)
		for kind, open := range kinds {
			before[kind] = sessionSettings(t, open)
		}
		srv.Oddest(t)
		now := sessionSettings(t, bare)
		// No server has the first globally, those for characters are chosen at log-in (unless that is switched off), and
		// the last does nothing from MariaDB 11.5 on.
		alike := []string{"sql_log_bin", "character_set_client", "character_set_results", "collation_connection", "alter_algorithm"}
		srv.Barely(t)
		for kind, open := range kinds {
			after := sessionSettings(t, open)
			for _, name := range dbconn.Set(srv.Dialect(), kind) {
				switch _, there := after[name]; {
				case !there:
				case after[name] != before[kind][name]:
					t.Errorf("%s sessions have %s = %s, and not %s", kind, name, after[name], before[kind][name])
				case usual[name] == now[name] && !servertest.IsBarely(name) && !slices.Contains(alike, name):
					t.Errorf("the server has no odd value of %s", name)
				}
			}
		}
	})
}

// TestSessionsReadThePresent: the moment as of which sessions of a server read system-versioned tables is none that ours read.
func TestSessionsReadThePresent(t *testing.T) {
	servertest.EachFrom(t, "mariadb:10.3", func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		open := func() *sql.DB {
			db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db
		}
		before := open()
		for _, text := range []string{"CREATE DATABASE past", "CREATE TABLE past.t (a INT) WITH SYSTEM VERSIONING", "INSERT INTO past.t VALUES (1)", "SET GLOBAL system_versioning_asof = '2000-01-01'"} {
			if _, err := before.Exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		n := 0
		if err := open().QueryRow("SELECT COUNT(*) FROM past.t").Scan(&n); err != nil || n != 1 {
			t.Errorf("a session of ours finds %d rows, %v", n, err)
		}
	})
}

func sessionSettings(t *testing.T, open func() (*sql.DB, error)) map[string]string {
	t.Helper()
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list := map[string]string{}
	if err := dbconn.Query(context.WithoutCancel(t.Context()), db, "SHOW SESSION VARIABLES", func(c []string) error {
		list[strings.ToLower(c[0])] = c[1]
		return nil
	}); err != nil {
		t.Fatal(fmt.Errorf("ask for settings: %w", err))
	}
	return list
}

// TestSettingsAreSetOnce: what a list gives to sessions of a server has one value.
func TestSettingsAreSetOnce(t *testing.T) {
	for _, mysql := range []bool{false, true} {
		if twice := dbconn.SetTwice(mysql); len(twice) > 0 {
			t.Errorf("set twice, of MySQL %t: %v", mysql, twice)
		}
	}
}
