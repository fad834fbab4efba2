package reset_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestEvictedTemplate: what a server does to a template's counters by itself is no change. An INSERT
// ... SELECT of 1000 rows takes 1023 numbers, of which the server forgets those that it did not need
// along with the table; and MySQL shows what an insert that failed left.
func TestEvictedTemplate(t *testing.T) { servertest.Each(t, testEvictedTemplate) }

func testEvictedTemplate(t *testing.T, want string) {
	const tables, rows = 600, 1000
	l := newLab(t, want, "shop", "CREATE TABLE b (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, a int) ENGINE=InnoDB;\n"+
		fmt.Sprintf("INSERT INTO b (a) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n;", rows)+
		"CREATE TABLE hid (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, u int, UNIQUE KEY (u)) ENGINE=InnoDB AUTO_INCREMENT=40; INSERT INTO hid VALUES (1, 1);")
	conn := l.newSession().Conn
	for id := range 3 { // one may show at once
		if _, err := conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO shop.hid VALUES (%d, 1)", 40+id)); err == nil {
			t.Fatal("a unique key took a second row")
		}
	}
	var err error
	if l.shape, err = template.Read(t.Context(), l.session.Conn, "shop"); err != nil {
		t.Fatal(err)
	}
	l.exec("SET GLOBAL table_definition_cache = 400")
	if err := l.Prove(t.Context(), l.session, l.shape); err != nil {
		t.Fatal(err)
	}
	counters := func(name string) map[string]uint64 {
		t.Helper()
		list := map[string]uint64{}
		have, err := template.Read(t.Context(), l.session.Conn, name)
		for _, table := range have.Counted() {
			if err == nil {
				list[table], err = template.CounterOf(have.Table(table).Create)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := counters("shop")
	var many strings.Builder
	many.WriteString("CREATE DATABASE many; USE many;\n")
	for i := range tables {
		fmt.Fprintf(&many, "CREATE TABLE m%d (id int);\n", i)
	}
	l.srv.Load(t, many.String())
	l.exec("FLUSH TABLES")
	for i := range tables { // more recently used
		l.exec(fmt.Sprintf("SELECT 1 FROM many.m%d LIMIT 0", i))
	}
	time.Sleep(4000 * time.Millisecond) // the server looks once a second
	if now := counters("shop"); now["b"] == before["b"] {
		t.Errorf("the server has forgotten nothing: %v, %v before", now, before)
	}
	l.Journal.Invalidate("shop", "something may have happened")
	if err := l.Unchanged(t.Context(), l.session, l.shape); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Clone(t.Context(), l.session, l.shape, "shop_1"); err != nil {
		t.Fatal(err)
	}
	if got := counters("shop_1"); !maps.Equal(got, before) {
		t.Errorf("a clone has the counters %v, and its template had %v", got, before)
	}
}
