package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

func TestRelocate(t *testing.T) {
	for _, tc := range []struct{ name, sql, mode, want string }{
		{name: "none", sql: "SELECT 1 FROM item", want: "SELECT 1 FROM item"},
		{name: "plain", sql: "INSERT INTO shop.log SELECT shop.twice(a) FROM shop.item", want: "INSERT INTO `c`.log SELECT `c`.twice(a) FROM `c`.item"},
		{name: "quoted, spaces, comments", sql: "DELETE FROM `shop` . /* x */ log WHERE shop /* shop.log */ .log.a = 1 -- shop.item\n", want: "DELETE FROM `c` . /* x */ log WHERE `c` /* shop.log */ .log.a = 1 -- shop.item\n"},
		{name: "a comment that is executed", sql: "SELECT /*!50001 1 FROM shop.item */", want: "SELECT /*!50001 1 FROM `c`.item */"},
		{name: "strings", sql: `SELECT 'it''s \'shop.log', "shop.log" # shop.item`, want: `SELECT 'it''s \'shop.log', "shop.log" # shop.item`},
		{name: "ANSI quotes", mode: "ANSI_QUOTES", sql: `SELECT 'a' FROM "shop"."log"`, want: "SELECT 'a' FROM `c`.\"log\""},
		{name: "no backslashes", mode: "NO_BACKSLASH_ESCAPES", sql: `SELECT '\' FROM shop.log`, want: "SELECT '\\' FROM `c`.log"},
		{name: "others", sql: "SELECT shop2.a, myshop.a, x.shop.a, @shop, Shop.log", want: "SELECT shop2.a, myshop.a, x.shop.a, @shop, Shop.log"},
		{name: "account", sql: "CREATE DEFINER=shop@localhost PROCEDURE p() DELETE FROM shop.log", want: "CREATE DEFINER=shop@localhost PROCEDURE p() DELETE FROM `c`.log"},
		{name: "alias", sql: "SELECT shop.a FROM item shop", want: "SELECT shop.a FROM item shop"},
		{name: "alias and database", sql: "SELECT shop.item.a FROM shop.item shop"},
		{name: "a table called so", sql: "UPDATE shop SET n = shop.n + 1", want: "UPDATE shop SET n = shop.n + 1"},
		{name: "prepared", sql: "BEGIN EXECUTE IMMEDIATE 'DELETE FROM shop.log'; END"},
		{name: "prepared, of parts", sql: "BEGIN SET @s = CONCAT('DELETE FROM ', 'shop', '.log'); PREPARE s FROM @s; EXECUTE s; END"},
		{name: "prepared, of its own", sql: "BEGIN PREPARE s FROM 'DELETE FROM log'; EXECUTE s; DELETE FROM shop.log; END", want: "BEGIN PREPARE s FROM 'DELETE FROM log'; EXECUTE s; DELETE FROM `c`.log; END"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := template.Relocate(tc.sql, tc.mode, "shop", "c", "item", "log", "twice")
			if got != tc.want || errors.Is(err, template.ErrUnclonable) != (tc.want == "") {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tc.want)
			}
		})
	}
}

// named is a database whose objects name it wherever they can.
const named = "CREATE DATABASE shop; USE shop;\n" + `
CREATE TABLE shop.item (id int AUTO_INCREMENT PRIMARY KEY, a int CHECK (a < 100), b int GENERATED ALWAYS AS (a + 1) STORED) ENGINE=InnoDB;
CREATE TABLE shop.log (id int AUTO_INCREMENT PRIMARY KEY, what varchar(20)) ENGINE=InnoDB;
CREATE TABLE shop.part (id int PRIMARY KEY, item int, FOREIGN KEY (item) REFERENCES shop.item (id)) ENGINE=InnoDB;
CREATE SEQUENCE shop.numbers; -- mariadb
CREATE TABLE numbered (id int DEFAULT NEXTVAL(shop.numbers), a int); -- mariadb
INSERT INTO item (a) VALUES (1), (2);
DELIMITER ;;
CREATE FUNCTION shop.logged() RETURNS int READS SQL DATA RETURN (SELECT COUNT(*) FROM shop.log);;
CREATE PROCEDURE shop.put(IN n int) BEGIN INSERT INTO shop.log (what) VALUES ('put: shop.log'); INSERT INTO ` + "`shop`.`item`" + ` (a) VALUES (n); END;;
CREATE PROCEDURE twice(IN n int) BEGIN CALL shop.put(n); CALL shop.put(n); END;;
CREATE TRIGGER shop.inserted AFTER INSERT ON shop.item FOR EACH ROW INSERT INTO shop . log (what) VALUES ('trigger');;
CREATE TRIGGER updated AFTER UPDATE ON item FOR EACH ROW UPDATE shop.log SET shop.log.what = CONCAT('u', shop.logged());;
CREATE EVENT shop.soon ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM shop.log;;
CREATE VIEW shop.counted AS SELECT shop.logged() AS n, i.a FROM shop.item i;;
`

// TestNamed uses the objects of a clone: they read and write nothing but the clone.
func TestNamed(t *testing.T) { servertest.Each(t, testNamed) }

func testNamed(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	srv.Load(t, servertest.Flavoured(srv.Server, named))
	shape := read(t, conn, "shop")
	if err := shape.Check(); err != nil {
		t.Fatal(err)
	}
	before := srv.Dump(t, "shop")
	if _, err := shape.Clone(t.Context(), conn, "c"); err != nil {
		t.Fatal(err)
	}
	if r := shape.Compare(read(t, conn, "c"), nil); !r.Empty() {
		t.Errorf("a fresh clone needs repair: %+v", r)
	}
	for _, do := range []string{"USE c", "CALL twice(7)", "UPDATE item SET a = 8"} {
		run(t, conn, do)
	}
	if srv.Flavour == server.MariaDB {
		run(t, conn, "INSERT INTO numbered (a) VALUES (1)")
	}
	for query, want := range map[string]string{
		"SELECT CONCAT(COUNT(*), ' ', MAX(what)) FROM c.log": "4 u4", "SELECT COUNT(*) FROM c.item": "4", "SELECT SUM(n) FROM c.counted": "16",
		"SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'c' AND event_definition LIKE '%`c`.log%'": "1",
	} {
		var got string
		if err := conn.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", query, got, err, want)
		}
	}
	if srv.Dump(t, "shop") != before {
		t.Errorf("the template was changed:\n%s", srv.Dump(t, "shop"))
	}
	// A dropped object comes back with the clone's name.
	run(t, conn, "DROP TRIGGER inserted")
	run(t, conn, "DROP PROCEDURE put")
	if err := shape.Repair(t.Context(), conn, "c", shape.Compare(read(t, conn, "c"), nil)); err != nil {
		t.Fatal(err)
	}
	if r := shape.Compare(read(t, conn, "c"), nil); !r.Empty() {
		t.Errorf("a repaired clone needs repair: %+v", r)
	}
	// A name that is ambiguous is refused, and named.
	for _, body := range []string{"EXECUTE IMMEDIATE 'DELETE FROM shop.log'", "BEGIN SET @s = 'DELETE FROM shop.log'; PREPARE s FROM @s; EXECUTE s; END", "SELECT shop.log FROM item shop"} {
		if strings.HasPrefix(body, "EXECUTE") && srv.Flavour != server.MariaDB {
			continue
		}
		run(t, conn, "CREATE PROCEDURE shop.murky() "+body)
		err := read(t, conn, "shop").Check()
		if !errors.Is(err, template.ErrUnclonable) || !strings.Contains(err.Error(), "procedure murky") || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v", body, err)
		}
		run(t, conn, "DROP PROCEDURE shop.murky")
	}
}
