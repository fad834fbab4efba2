package repeatable

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// TestRoutines: what calls a routine that switches the log off, by the rights of somebody who may, is found whichever of the two
// is made last, and what has only its own rights is not.
func TestRoutines(t *testing.T) {
	p := Powers{Accounts: []Account{{"root", "localhost"}, {"mate", "localhost"}}}
	const (
		root, app, invoker = "CREATE DEFINER=`root`@`localhost` ", "CREATE DEFINER=`app`@`%` ", " SQL SECURITY INVOKER"
		off                = "() SQL SECURITY INVOKER SET sql_log_bin = 0"
	)
	start := []Defined{
		{Schema: "shop", Name: "go", Definer: "root@localhost", Mighty: true, Body: "BEGIN CALL later(); END"},
		{Schema: "shop", Name: "nightly", Definer: "root@localhost", Mighty: true, Body: "CALL shop.`the next`()"},
		{Schema: "shop", Name: "hides", Definer: "app@%", Invoker: true, Body: "SET sql_log_bin = 0"},
		{Schema: "shop", Name: "own", Definer: "app@%", Body: "PREPARE s FROM @a"},
		{Schema: "shop", Name: "known", Definer: "root@localhost", Mighty: true, Body: "CALL hides()"},
	}
	for _, c := range []struct {
		name string
		said []string
		want string // of the last of them; the others say nothing
	}{
		{"a caller of one that there was", []string{root + "PROCEDURE a() CALL hides()"}, "a"},
		{"an event", []string{root + "EVENT a ON SCHEDULE EVERY 1 DAY DO CALL hides()"}, "a"},
		{"by another database, in comments", []string{root + "PROCEDURE `a`() call/**/shop . /*!50000 `HIDES` */ ()"}, "a"},
		{"in mode ORACLE", []string{root + "PROCEDURE a AS BEGIN hides; END"}, "a"},
		{"behind a setting", []string{"SET STATEMENT max_statement_time=1 FOR " + root + "PROCEDURE a() CALL hides()"}, "a"},
		{"what one calls that there was", []string{app + "PROCEDURE later" + off}, "go"},
		{"a name of two words", []string{app + "PROCEDURE `the next`() SQL SECURITY /* x */ INVOKER EXECUTE IMMEDIATE @a"}, "nightly"},
		{"through another", []string{app + "PROCEDURE later()" + invoker + " CALL middle()", app + "PROCEDURE middle()" + invoker + " CALL hides()"}, "go"},
		{"through another, from its end", []string{app + "PROCEDURE middle" + off, app + "PROCEDURE later()" + invoker + " CALL middle()"}, "go"},
		{"both new", []string{app + "PROCEDURE x" + off, root + "PROCEDURE a() CALL x()"}, "a"},
		{"a package", []string{app + "PACKAGE BODY later AUTHID CURRENT_USER AS PROCEDURE x() AS BEGIN SET sql_log_bin = 0; END; END"}, "go"},
		{"one that is altered", []string{app + "PROCEDURE later() PREPARE s FROM @a", "ALTER PROCEDURE later SQL SECURITY INVOKER"}, "go"},

		{"one that is known to", []string{root + "PROCEDURE known() CALL hides()"}, ""},
		{"that has rights of its own", []string{app + "PROCEDURE later() CALL hides()", app + "PROCEDURE x() SET sql_log_bin = 0"}, ""},
		{"one that calls such", []string{root + "PROCEDURE a() CALL own()"}, ""},
		{"a function", []string{root + "FUNCTION a() RETURNS int BEGIN CALL hides(); RETURN 1; END"}, ""},
		{"a caller with the rights of its caller", []string{root + "PROCEDURE a()" + invoker + " CALL hides()"}, ""},
		{"a comment that is altered", []string{"ALTER PROCEDURE go COMMENT 'x'"}, ""},
		{"that is harmless", []string{app + "PROCEDURE later()" + invoker + " SELECT 1", root + "PROCEDURE a() BEGIN CALL go(); CALL later(); END"}, ""},
		{"what is none", []string{"DROP PROCEDURE hides", "BEGIN", "GRANT EXECUTE ON PROCEDURE hides TO app", root + "TRIGGER a BEFORE INSERT ON t FOR EACH ROW CALL hides()"}, ""},
	} {
		var l Routines
		if _, why := l.Begin(start); why != "" {
			t.Fatalf("what there was: %s", why)
		}
		for i, sql := range c.said {
			want := ""
			if i == len(c.said)-1 && c.want != "" {
				want = "what root@localhost defines may call what switches it off: " + c.want
			}
			if got := l.ByQuery(p, &binlog.Query{SQL: []byte(sql), Schema: "shop"}, false); got != want {
				t.Errorf("%s: %s: %q, want %q", c.name, sql, got, want)
			}
		}
	}
	// The log may come before what there was is known.
	var l Routines
	if why := l.ByQuery(p, &binlog.Query{SQL: []byte(app + "PROCEDURE later" + off)}, false); why != "" {
		t.Errorf("of nothing: %s", why)
	}
	blinding, why := l.Begin(append(start, Defined{Name: "later", Definer: "app@%", Invoker: true, Body: "SET sql_log_bin = 0"}))
	if len(blinding) != 1 || blinding[0].Name != "known" || why != "what root@localhost defines may call what switches it off: go" {
		t.Errorf("once it is known: %v, %q", blinding, why)
	}
}

// TestManyRoutines bounds what thousands of them cost, each of which calls the one before.
func TestManyRoutines(t *testing.T) {
	const many = 3000
	var l Routines
	var list []Defined
	for n := range many {
		list = append(list, Defined{Name: fmt.Sprint("p", n), Definer: "root@localhost", Mighty: true, Body: fmt.Sprintf("BEGIN CALL p%d(); END", n-1)})
	}
	began := time.Now()
	l.Begin(list)
	blinding, _ := l.Begin(append(list, Defined{Name: "p-1", Definer: "app@%", Invoker: true, Body: "SET sql_log_bin = 0"}))
	if len(blinding) != many {
		t.Errorf("%d of %d are found", len(blinding), many)
	}
	if took := time.Since(began); took > time.Minute { // some seconds at the worst
		t.Errorf("it took %s", took)
	}
}
