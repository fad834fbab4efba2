package template_test

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

//go:embed testdata/zoo.sql
var zoo string

// start starts a server with the databases world, zoo and sakila.
func start(t *testing.T, want string) (*servertest.Running, *sql.Conn, []string) {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	var world strings.Builder
	world.WriteString("CREATE DATABASE world; USE world;\n")
	if err := (fixture.World{}).WriteDump(&world, fixture.Extended); err != nil {
		t.Fatal(err)
	}
	srv.Load(t, world.String())
	srv.Load(t, servertest.Flavoured(srv.Server, zoo))
	var sakila []byte // in one session, whose database the first file chooses
	for _, f := range []string{"sakila-schema.sql", "sakila-data.sql"} {
		b, err := os.ReadFile("../../tests/testdata/samples/" + f)
		if err != nil {
			t.Fatal(err)
		}
		sakila = append(append(sakila, b...), '\n')
	}
	srv.Load(t, string(sakila))
	return srv, unlogged(t, srv), []string{"world", "zoo", "sakila"}
}

// unlogged opens a session whose statements are not logged.
func unlogged(t *testing.T, srv *servertest.Running) *sql.Conn {
	t.Helper()
	db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func read(t *testing.T, conn *sql.Conn, name string) *template.Shape {
	t.Helper()
	s, err := template.Read(t.Context(), conn, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// same compares dumps of two databases.
func same(t *testing.T, srv *servertest.Running, template, clone string) {
	t.Helper()
	dump := func(name string) []string {
		text := strings.NewReplacer("`"+name+"`.", "`the database`.", "ALTER DATABASE `"+name+"`", "ALTER DATABASE `the database`").Replace(srv.Dump(t, name))
		if srv.Flavour == server.MySQL { // a reload of its own dump differs as much
			text = strings.ReplaceAll(text, " CHARACTER SET utf8mb4 COLLATE ", " COLLATE ")
		}
		return strings.Split(text, "\n")
	}
	if diff := cmp.Diff(dump(template), dump(clone)); diff != "" {
		t.Errorf("%s is not as %s:\n%s", clone, template, diff)
	}
}

func TestClone(t *testing.T) { servertest.Each(t, testClone) }

func testClone(t *testing.T, want string) {
	srv, conn, databases := start(t, want)
	for _, name := range databases {
		t.Run(name, func(t *testing.T) {
			if err := template.Analyze(t.Context(), conn, name); err != nil {
				t.Fatal(err)
			}
			shape := read(t, conn, name)
			if _, err := shape.Clone(t.Context(), conn, name+"_clone"); err != nil {
				t.Fatal(err)
			}
			same(t, srv, name, name+"_clone")
			if r := shape.Compare(read(t, conn, name+"_clone"), nil); !r.Empty() {
				t.Errorf("a fresh clone needs repair: %+v", r)
			}
			// Once more by files, also where that is not faster; and where they are no good.
			for _, dir := range []string{srv.DataDir(), "/nowhere"} {
				run(t, conn, "DROP DATABASE "+name+"_clone")
				shape.Files = &template.Files{DataDir: dir, UID: srv.Account.UID, GID: srv.Account.GID}
				if _, err := shape.Clone(t.Context(), conn, name+"_clone"); err != nil {
					t.Fatal(err)
				}
				same(t, srv, name, name+"_clone")
				if shape.Files.Failed() && dir == srv.DataDir() {
					t.Error("it was not made of files")
				}
				if left, err := filepath.Glob(filepath.Join(srv.DataDir(), name+"_clone", "*.cfg")); err != nil || len(left) > 0 {
					t.Errorf("descriptions of what was imported are left: %v %v", left, err)
				}
			}
		})
	}
}

// TestMend changes the clone of the zoo in one way after the other.
func TestMend(t *testing.T) { servertest.Each(t, testMend) }

func testMend(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	shape := read(t, conn, "zoo")
	if _, err := shape.Clone(t.Context(), conn, "z"); err != nil {
		t.Fatal(err)
	}
	for _, change := range strings.Split(strings.TrimSpace(changes), "\n") {
		if change = servertest.Flavoured(srv.Server, change); change == "" {
			continue
		}
		t.Run(change, func(t *testing.T) {
			run(t, conn, "USE z")
			run(t, conn, change)
			r := shape.Compare(read(t, conn, "z"), map[string]bool{"keeper": true, "visit": true})
			if len(r.Refill) == 2 && len(r.Drop)+len(r.Remake)+len(r.MakeObjects)+len(r.DropObjects) == 0 && !r.Defaults {
				t.Error("it was not seen")
			}
			if err := shape.Repair(t.Context(), conn, "z", r); err != nil {
				t.Fatal(err)
			}
			same(t, srv, "zoo", "z")
			if r := shape.Compare(read(t, conn, "z"), nil); !r.Empty() {
				t.Errorf("a repaired clone needs repair: %+v", r)
			}
		})
	}
}

// changes are made to the zoo one at a time.
const changes = `
DROP TABLE animal
RENAME TABLE keeper TO k2
RENAME TABLE keeper TO k2; CREATE TABLE keeper (id int)
ALTER TABLE keeper ADD COLUMN extra int
ALTER TABLE keeper ADD KEY more (wage)
ALTER TABLE keeper COMMENT 'another'
ALTER TABLE animal DROP FOREIGN KEY kept_by
DROP VIEW heavy; CREATE TABLE heavy (a int)
ALTER VIEW heavy AS SELECT 1 AS one
DROP TRIGGER born_first
CREATE TRIGGER more AFTER DELETE ON keeper FOR EACH ROW SET @x = 1
DROP PROCEDURE feed
DROP FUNCTION twice; CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 3
CREATE EVENT other ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1
ALTER EVENT nightly COMMENT 'x'
ALTER DATABASE z CHARACTER SET latin1 COLLATE latin1_bin
ALTER DATABASE z COMMENT '' -- mariadb
ALTER DATABASE z COMMENT 'another' -- mariadb
DROP FUNCTION older; CREATE FUNCTION older(t varchar(10)) RETURNS int DETERMINISTIC RETURN t = 'a'
CREATE SEQUENCE s2 -- mariadb
DROP SEQUENCE tickets -- mariadb
`

// TestHalfCloneIsRemoved: a clone that fails leaves nothing.
func TestHalfCloneIsRemoved(t *testing.T) {
	_, conn, _ := start(t, "")
	shape := read(t, conn, "zoo")
	shape.Objects[len(shape.Objects)-1].Create = "CREATE NONSENSE"
	if _, err := shape.Clone(t.Context(), conn, "half"); err == nil {
		t.Error("no error")
	}
	if _, err := template.Read(t.Context(), conn, "half"); err == nil || !strings.Contains(err.Error(), template.ErrNoDatabase.Error()) {
		t.Errorf("half a clone is there: %v", err)
	}
	run(t, conn, "CREATE DATABASE half")
	if _, err := read(t, conn, "zoo").Clone(t.Context(), conn, "half"); !errors.Is(err, template.ErrExists) {
		t.Errorf("a clone of the name of a database that is there: %v", err)
	}
	run(t, conn, "DROP DATABASE half") // it is there
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(t, conn, "zoo").Clone(ctx, conn, "half"); err == nil {
		t.Error("no error after a cancel")
	}
}

// TestLockedTemplate clones while somebody has written to a table of the template: that one is made
// by rows, and the next by files again.
func TestLockedTemplate(t *testing.T) { servertest.Each(t, testLockedTemplate) }

func testLockedTemplate(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	if err := template.Analyze(t.Context(), conn, "world"); err != nil {
		t.Fatal(err)
	}
	shape := read(t, conn, "world")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID}
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "world")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	run(t, writer, "BEGIN")
	run(t, writer, "UPDATE city SET Population = 0")
	if _, err := shape.Clone(t.Context(), conn, "meanwhile"); err != nil {
		t.Fatal(err)
	}
	run(t, writer, "ROLLBACK")
	same(t, srv, "world", "meanwhile")
	if shape.Files.Failed() {
		t.Error("files are never tried again")
	}
}
