package reset_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// ordered are tables whose rows come in an order that no primary key gives: the one in which
// they were inserted.
const ordered = `CREATE TABLE indexed (a int, KEY (a)) ENGINE=InnoDB;
INSERT INTO indexed VALUES (3), (1), (2);
CREATE TABLE indexed_isam (a int, KEY (a)) ENGINE=MyISAM;
INSERT INTO indexed_isam VALUES (3), (1), (2);
CREATE TABLE keyed_isam (a int PRIMARY KEY, b varchar(20)) ENGINE=MyISAM;
INSERT INTO keyed_isam VALUES (3, 'c'), (1, 'a'), (2, 'bbbbbbbbbbbb');
CREATE TABLE begun (a varchar(20) NOT NULL, UNIQUE KEY (a(5))) ENGINE=InnoDB;
INSERT INTO begun VALUES ('3'), ('1'), ('2');
CREATE TABLE keyed_aria (a int PRIMARY KEY, b varchar(20)) ENGINE=Aria; -- mariadb
INSERT INTO keyed_aria VALUES (3, 'c'), (1, 'a'), (2, 'bbbbbbbbbbbb'); -- mariadb
`

// TestOrderOfRows: a test that reads without ORDER BY gets the rows of a clone in the template's
// order, and also after a reset.
func TestOrderOfRows(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Find(t, want)
		l := newLab(t, want, "ordered", servertest.Flavoured(srv, ordered))
		le := l.lease("ordered_1")
		tables := []string{"indexed", "begun", "indexed_isam", "keyed_isam", "keyed_aria"}
		if strings.HasPrefix(want, "mysql") {
			tables = tables[:4]
		}
		check := func(when string) {
			t.Helper()
			for _, table := range tables {
				var got string
				if err := le.db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(a) FROM (SELECT a FROM ordered_1."+table+" USE INDEX () LIMIT 99) AS t").Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != "3,1,2" {
					t.Errorf("%s the rows of %s are %s, want 3,1,2", when, table, got)
				}
			}
		}
		check("in a new clone")
		for _, change := range []string{"DELETE FROM %s", "INSERT INTO %s (a) VALUES (9)", "DELETE FROM %s WHERE a > 1"} {
			for _, table := range tables {
				conn := le.do(strings.ReplaceAll(change, "%s", table))
				if res := le.reset(); res.Way == reset.Noop {
					t.Errorf("after %s on %s: %+v", change, table, res)
				}
				conn.Close()
			}
			check("after " + change)
		}
	})
}
