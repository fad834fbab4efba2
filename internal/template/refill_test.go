package template_test

import (
	"database/sql"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestRefillByFile fills tables with rows and keys, without any key, with a trigger and with a
// foreign key to them, again from the template's files.
func TestRefillByFile(t *testing.T) { servertest.Each(t, testRefillByFile) }

func testRefillByFile(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE shop; USE shop; CREATE TABLE bare (a int, name varchar(40)); INSERT INTO bare SELECT seq % 1000, CONCAT('n', seq) FROM "+numbers(3000)+";"+
		"CREATE TABLE item (id int AUTO_INCREMENT PRIMARY KEY, name varchar(40), KEY (name)); INSERT INTO item (name) SELECT seq % 7 FROM "+numbers(3000)+";"+
		"CREATE TABLE line (id int PRIMARY KEY, item int, FOREIGN KEY (item) REFERENCES item (id) ON DELETE CASCADE); INSERT INTO line SELECT seq, seq FROM "+numbers(2000)+";"+
		"CREATE TABLE seen (id int AUTO_INCREMENT PRIMARY KEY); CREATE TRIGGER look AFTER INSERT ON line FOR EACH ROW INSERT INTO seen VALUES ();"+
		"CREATE TABLE little (a int); INSERT INTO little VALUES (1);")
	conn := unlogged(t, srv)
	if err := template.Analyze(t.Context(), conn, "shop"); err != nil {
		t.Fatal(err)
	}
	shape := read(t, conn, "shop")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID, Rows: 400}
	if _, err := shape.Clone(t.Context(), conn, "shop_1"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"bare", "item", "line"} {
		if !shape.ByFile(shape.Table(table)) {
			t.Errorf("%s is not filled by its file", table)
		}
	}
	copies := 0
	shape.Files.Copied(func() { copies++ })
	for _, change := range []string{"UPDATE bare SET name = 'x' WHERE a = 7", "DELETE FROM bare WHERE a < 500", "INSERT INTO bare VALUES (1, 'n1')", "DELETE FROM item", "UPDATE line SET item = NULL", "DELETE FROM little"} {
		run(t, conn, "SET foreign_key_checks = 1; USE shop_1; "+change+"; SET foreign_key_checks = 0")
		if err := shape.Refill(t.Context(), conn, "shop_1", []string{"bare", "item", "line", "little"}); err != nil {
			t.Fatal(err)
		}
		same(t, srv, "shop", "shop_1")
	}
	if copies < 6 || shape.Files.Failed() {
		t.Errorf("%d of 6 times files were copied", copies)
	}
	run(t, conn, "INSERT INTO shop_1.item (name) VALUES ('next'); INSERT INTO shop_1.bare VALUES (1, 'next')")

	// No counter is behind the one that is shown, which a table that is opened again would show.
	run(t, conn, "USE shop_1; INSERT INTO item (name) SELECT a FROM bare LIMIT 2000; CREATE TRIGGER late BEFORE INSERT ON item FOR EACH ROW SET NEW.name = 'x'; DROP TRIGGER late")
	if err := shape.Refill(t.Context(), conn, "shop_1", []string{"item"}); err != nil {
		t.Fatal(err)
	}
	shown := counter(t, conn, "shop_1.item")
	run(t, conn, "USE shop_1; FLUSH TABLES item; CREATE TRIGGER late BEFORE INSERT ON item FOR EACH ROW SET NEW.name = 'x'; DROP TRIGGER late")
	if got := counter(t, conn, "shop_1.item"); got != shown {
		t.Errorf("the next number is %d, and %d once the table is opened again", shown, got)
	}
}

func counter(t *testing.T, conn *sql.Conn, table string) uint64 {
	t.Helper()
	var name, create string
	if err := conn.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &create); err != nil {
		t.Fatal(err)
	}
	n, err := template.CounterOf(create)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
