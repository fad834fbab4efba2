package dbconn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestBesideLog: what is in no log is named when it is changed, and nothing else is.
func TestBesideLog(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY AUTO_INCREMENT, b INT) ENGINE=InnoDB; SET GLOBAL event_scheduler = ON;")
		mysql := strings.HasPrefix(want, "mysql:")
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "a")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		list := func() []string {
			l, err := dbconn.BesideLog(t.Context(), db, mysql, []string{"SUPER"})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		steps := []struct{ statement, want string }{
			{"CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PASSWORD 'secret')", "server s"},
			{"ALTER SERVER s OPTIONS (PASSWORD 'other')", "server s"},
			{"DROP SERVER s", "server s"},
			{"CREATE EVENT again ON SCHEDULE EVERY 1 DAY DO INSERT INTO t (b) VALUES (1)", ""},
			{"CREATE EVENT off ON SCHEDULE AT NOW() + INTERVAL 1 DAY DISABLE DO INSERT INTO t (b) VALUES (1)", ""},
			{"CREATE EVENT once ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO t (b) VALUES (2)", "event a.once"},
			{"DROP EVENT once", ""},
			{"CREATE TABLE u (id INT)", ""},
		}
		if mysql {
			steps = append(steps, []struct{ statement, want string }{
				{"CREATE UNDO TABLESPACE u ADD DATAFILE 'u.ibu'", "innodb_undo_tablespaces_explicit,innodb_undo_tablespaces_total"},
				{"CREATE RESOURCE GROUP g TYPE = USER VCPU = 0", "resource group g"},
				{"ALTER RESOURCE GROUP g DISABLE", "resource group g"},
				{"DROP RESOURCE GROUP g", "resource group g"},
				{"INSTALL COMPONENT 'file://component_query_attributes'", "component file://component_query_attributes"},
				{"INSTALL PLUGIN mysql_no_login SONAME 'mysql_no_login.so'", "plugin mysql_no_login"},
				{"UNINSTALL PLUGIN mysql_no_login", "plugin mysql_no_login"},
			}...)
		}
		before := list()
		for _, s := range steps {
			if _, err := db.ExecContext(t.Context(), s.statement); err != nil {
				t.Fatalf("%s: %v", s.statement, err)
			}
			after := list()
			for end := time.Now().Add(time.Minute); strings.Contains(s.want, "event") && slices.Equal(before, after) && time.Now().Before(end); after = list() {
				time.Sleep(20 * time.Millisecond)
			}
			if diff := cmp.Diff(s.want, strings.Join(dbconn.ChangedBesideLog(before, after), ",")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.statement, diff)
			}
			if strings.Contains(strings.Join(after, " "), "secret") {
				t.Errorf("there is a password in %q", after)
			}
			before = after
		}
	})
}

func BenchmarkBesideLog(b *testing.B) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		b.Run(want, func(b *testing.B) {
			srv := servertest.Start(b, servertest.Find(b, want))
			db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			for b.Loop() {
				if _, err := dbconn.BesideLog(b.Context(), db, strings.HasPrefix(want, "mysql:"), []string{"SUPER"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
