package template_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestDropBrokenTriggers: files of triggers that a killed RENAME TABLE left behind, as they were
// found, keep no database from being dropped. MySQL has no such files, and does not mind what we
// put there under their names.
func TestDropBrokenTriggers(t *testing.T) { servertest.Each(t, testDropBrokenTriggers) }

func testDropBrokenTriggers(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	const emptyList = "TYPE=TRIGGERS\ntriggers=\nsql_modes=\ndefiners=\nclient_cs_names=\nconnection_cl_names=\ndb_cl_names=\ncreated=\n"
	for name, broken := range map[string]map[string]string{
		"an empty list":                      {"a.TRG": emptyList},
		"an empty file":                      {"a.TRG": ""},
		"a list that is cut":                 {"a.TRG": "TYPE=TRIGGERS\ntriggers='CREATE"},
		"a trigger's file without the list":  {"gone.TRN": "TYPE=TRIGGERNAME\ntrigger_table=a\n"},
		"the list of a table that is gone":   {"gone.TRG": emptyList},
		"a new list not renamed to its name": {"a.TRG~": emptyList},
	} {
		t.Run(name, func(t *testing.T) {
			for _, statement := range []string{"CREATE DATABASE d", "USE d", "CREATE TABLE a (a int)", "CREATE TRIGGER tr BEFORE INSERT ON a FOR EACH ROW SET NEW.a = 1", "FLUSH TABLES"} {
				run(t, conn, statement)
			}
			for file, text := range broken {
				if err := os.WriteFile(filepath.Join(srv.DataDir(), "d", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := template.Drop(t.Context(), conn, "d", srv.DataDir()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(srv.DataDir(), "d")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the database's directory is still there: %v", err)
			}
		})
	}
}

// TestCloneAfterHalfDrop: of a database that a killed DROP DATABASE removed, MariaDB keeps routines and
// events; a clone of that name is made all the same.
func TestCloneAfterHalfDrop(t *testing.T) {
	servertest.EachFrom(t, "mariadb:10.6", func(t *testing.T, want string) {
		srv, conn, _ := start(t, want)
		srv.Load(t, "CREATE DATABASE shop; USE shop; CREATE TABLE a (a int); CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 2; CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1;")
		shape := read(t, conn, "shop")
		if _, err := shape.Clone(t.Context(), conn, "mine"); err != nil {
			t.Fatal(err)
		}
		run(t, conn, "DROP TABLE mine.a")
		if err := os.RemoveAll(filepath.Join(srv.DataDir(), "mine")); err != nil { // as the kill found it
			t.Fatal(err)
		}
		run(t, conn, "FLUSH TABLES")
		if err := template.Drop(t.Context(), conn, "mine", srv.DataDir()); err != nil {
			t.Fatal(err)
		}
		if _, err := shape.Clone(t.Context(), conn, "mine"); err != nil {
			t.Fatal(err)
		}
		same(t, srv, "shop", "mine")
	})
}
