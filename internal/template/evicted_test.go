package template_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestEvicted makes the server forget a table between the two halves of its import, as it does
// when it knows more tables than table_definition_cache says.
func TestEvicted(t *testing.T) { servertest.Each(t, testEvicted) }

func testEvicted(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	run(t, conn, "SET GLOBAL table_definition_cache = 400")
	var many strings.Builder
	many.WriteString("CREATE DATABASE many; USE many;\n")
	const tables = 450
	for i := range tables {
		fmt.Fprintf(&many, "CREATE TABLE m%d (id int);\n", i)
	}
	// A statement reserves ids by powers of two, and whose definition is evicted forgets those
	// that were not used: with all of them used the template's own may be evicted as well.
	many.WriteString(`CREATE DATABASE shop; USE shop;
CREATE TABLE b (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, a int);
INSERT INTO b (a) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n UNION ALL SELECT i FROM n WHERE i <= 23;
`)
	srv.Load(t, many.String())
	if err := template.Analyze(t.Context(), conn, "shop"); err != nil {
		t.Fatal(err)
	}
	shape := read(t, conn, "shop")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID}
	other, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	shape.Files.Copied(func() {
		for i := range tables { // more recently used than the clone
			if _, err := other.ExecContext(t.Context(), fmt.Sprintf("SELECT 1 FROM many.m%d LIMIT 0", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2500 * time.Millisecond) // the server looks once a second
	})
	if _, err := shape.Clone(t.Context(), conn, "c"); err != nil {
		t.Fatal(err)
	}
	if shape.Files.Failed() {
		t.Error("it was not made of files")
	}
	next := func(name string) (id int) {
		if _, err := conn.ExecContext(t.Context(), "INSERT INTO "+name+".b (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(t.Context(), "SELECT MAX(id) FROM "+name+".b").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got, want := next("c"), next("shop"); got != want {
		t.Errorf("the next id was %d, want the template's, %d", got, want)
	}
}
