package reset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestEvictedCounters puts clones back whose tables the server has forgotten since they were used,
// as it does when it knows more of them than table_definition_cache says. What comes next in them
// is told by using them.
func TestEvictedCounters(t *testing.T) { servertest.Each(t, testEvictedCounters) }

func testEvictedCounters(t *testing.T, want string) {
	const tables, clones, rows = 10, 90, 5
	var schema strings.Builder
	for i := range tables {
		fmt.Fprintf(&schema, "CREATE TABLE b%d (id int AUTO_INCREMENT PRIMARY KEY, a int);\n", i)
		fmt.Fprintf(&schema, "INSERT INTO b%d (a) VALUES (1), (2), (3), (4), (%d);\n", i, rows)
	}
	l := newLab(t, want, "many", schema.String())
	l.exec("SET GLOBAL table_definition_cache = 400")
	user, err := dbconn.Open(l.srv.Endpoint.Socket, l.srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	use := func(name string) {
		t.Helper()
		for i := range tables {
			res, err := user.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s.b%d (a) VALUES (1)", name, i))
			if err != nil {
				t.Fatal(err)
			}
			if id, err := res.LastInsertId(); err != nil || id != rows+1 {
				t.Errorf("%s.b%d: the next id was %d (%v), want the template's, %d", name, i, id, err, rows+1)
			}
		}
	}
	var list []*reset.Database
	for i := range clones {
		name := fmt.Sprintf("many_%d", i)
		counters, err := l.Clone(t.Context(), l.session, l.shape, name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &reset.Database{Name: name, User: "nobody", Shape: l.shape, Counters: counters})
		use(name)
	}
	const rounds = 2
	for range rounds {
		time.Sleep(2500 * time.Millisecond) // an idle server looks once a second
		for _, d := range list {
			if res, err := l.Reset(t.Context(), l.session, d, reset.RestoreCounters); err != nil || res.Way != reset.Undo {
				t.Fatal(res, err)
			}
		}
		for _, d := range list {
			use(d.Name)
		}
	}
}
