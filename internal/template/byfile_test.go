package template_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// numbers is a derived table of the numbers seq from 1 to n, on every server.
func numbers(n int) string {
	return fmt.Sprintf("JSON_TABLE(CONCAT('[0', REPEAT(',0', %d), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY)) numbers", n-1)
}

// files are tables that InnoDB keeps in one file each, in every shape of which the file or its
// description has to tell more than SHOW CREATE TABLE: columns added and dropped without a rebuild,
// hidden columns behind indexes of expressions, values on pages of their own.
const files = `
CREATE TABLE added (id int PRIMARY KEY, a int, t varchar(40));
INSERT INTO added SELECT seq, seq % 7, CONCAT('t', seq) FROM 1000;
ALTER TABLE added ADD COLUMN c int NOT NULL DEFAULT 7, ALGORITHM=INSTANT;
INSERT INTO added VALUES (2000, 1, 'x', 9), (2001, 1, 'y', 10);
ALTER TABLE added ADD COLUMN z int DEFAULT 3 FIRST, ALGORITHM=INSTANT;
UPDATE added SET z = 4 WHERE id % 10 = 0;
ALTER TABLE added DROP COLUMN a, ALGORITHM=INSTANT;
INSERT INTO added VALUES (5, 2002, 'z', 11);
CREATE TABLE dropped (a int, b int, c varchar(20) DEFAULT 'c');
INSERT INTO dropped (a, b) SELECT seq, seq FROM 1000;
ALTER TABLE dropped DROP COLUMN b, ALGORITHM=INSTANT;
DELETE FROM dropped WHERE a % 3 = 0;
CREATE TABLE widened (id int PRIMARY KEY, v varchar(20)) CHARSET latin1;
INSERT INTO widened SELECT seq, seq FROM 1000;
ALTER TABLE widened CHANGE v w varchar(200);
CREATE TABLE indexed (id int PRIMARY KEY, a int, t varchar(99), j json, p point NOT NULL, KEY fall (a DESC, t), KEY part (t(3)), SPATIAL KEY (p));
INSERT INTO indexed SELECT seq, seq % 31, CONCAT('text ', seq), CONCAT('{"n": [', seq % 5, ',', seq % 3, ']}'), ST_GeomFromText(CONCAT('POINT(', seq, ' ', seq % 9, ')')) FROM 2000;
ALTER TABLE indexed ADD KEY sum ((a + id)), ADD KEY many ((CAST(j -> '$.n' AS UNSIGNED ARRAY))); -- mysql
CREATE TABLE computed (id int PRIMARY KEY, a int, v int AS (a + 1) VIRTUAL, s int AS (a * 2) STORED, KEY (v), UNIQUE KEY (s, id));
INSERT INTO computed (id, a) SELECT seq, seq % 77 FROM 1000;
CREATE TABLE large (id int PRIMARY KEY, t longtext, b longblob) ROW_FORMAT=DYNAMIC;
INSERT INTO large SELECT seq, REPEAT(CONCAT('long ', seq), seq * 20), REPEAT(CHAR(seq), seq * 200) FROM 150;
UPDATE large SET t = CONCAT(t, 'more') WHERE id % 2 = 0;
CREATE TABLE documents (id int PRIMARY KEY, j json);
INSERT INTO documents SELECT seq, JSON_OBJECT('a', REPEAT('x', 30000), 'n', seq) FROM 60;
UPDATE documents SET j = JSON_SET(j, '$.a', REPEAT('y', 20000)) WHERE id % 2 = 0;
CREATE TABLE old_format (id int AUTO_INCREMENT PRIMARY KEY, t text) ROW_FORMAT=REDUNDANT;
INSERT INTO old_format (t) SELECT REPEAT('o', seq) FROM 500;
CREATE TABLE compact (id int AUTO_INCREMENT PRIMARY KEY, t text) ROW_FORMAT=COMPACT;
INSERT INTO compact (t) SELECT REPEAT('o', seq) FROM 500;
CREATE TABLE bare (n int NOT NULL AUTO_INCREMENT, a varchar(20), KEY (n));
INSERT INTO bare (a) SELECT seq % 5 FROM 1000;
DELETE FROM bare WHERE n % 3 = 0 OR n > 990;
CREATE TABLE tree (id int PRIMARY KEY, up int, FOREIGN KEY (up) REFERENCES tree (id) ON DELETE CASCADE);
INSERT INTO tree SELECT seq, NULLIF(seq DIV 2, 0) FROM 1000;
CREATE TABLE empty_one (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, a int) AUTO_INCREMENT=4711;
CREATE TABLE emptied (id int AUTO_INCREMENT PRIMARY KEY, a int);
INSERT INTO emptied (a) SELECT seq FROM 1000;
DELETE FROM emptied;
CREATE TABLE squeezed (id int PRIMARY KEY, t text) COMPRESSION='zlib'; -- mysql
CREATE TABLE squeezed (id int PRIMARY KEY, t text) PAGE_COMPRESSED=1; -- mariadb
INSERT INTO squeezed SELECT seq, REPEAT('s', 500) FROM 1000;
`

// TestByFile clones tables by their files, changes all of them, and fills them again.
func TestByFile(t *testing.T) { servertest.Each(t, testByFile) }

func testByFile(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE shop; USE shop;\n"+withNumbers(servertest.Flavoured(srv.Server, files)))
	conn := unlogged(t, srv)
	if err := template.Analyze(t.Context(), conn, "shop"); err != nil {
		t.Fatal(err)
	}
	shape := read(t, conn, "shop")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID}
	var names []string
	for i := range shape.Tables {
		if names = append(names, shape.Tables[i].Name); !shape.ByFile(&shape.Tables[i]) {
			t.Errorf("%s is not filled by its file", shape.Tables[i].Name)
		}
	}
	if _, err := shape.Clone(t.Context(), conn, "shop_1"); err != nil {
		t.Fatal(err)
	}
	sound(t, srv, conn, names)
	for _, change := range []string{
		"DELETE FROM large; DELETE FROM bare; DELETE FROM added; DELETE FROM dropped; DELETE FROM indexed; DELETE FROM tree",
		"INSERT INTO tree VALUES (3000, 1); INSERT INTO dropped VALUES (1, 'n'); UPDATE bare SET a = 'n'; UPDATE added SET c = 1; UPDATE computed SET a = 9; UPDATE large SET t = b",
	} {
		run(t, conn, "USE shop_1; "+change)
		if err := shape.Refill(t.Context(), conn, "shop_1", names); err != nil {
			t.Fatal(err)
		}
		sound(t, srv, conn, names)
	}
	if shape.Files.Failed() {
		t.Error("it was not made of files")
	}
	// They are used as the template is, and give the same numbers.
	for _, use := range []string{"INSERT INTO empty_one (a) VALUES (1)", "INSERT INTO bare (a) VALUES ('n')", "INSERT INTO old_format (t) VALUES ('n')", "UPDATE added SET c = c + 1, t = CONCAT(t, t)", "UPDATE large SET t = CONCAT(t, b) WHERE id < 20", "DELETE FROM dropped WHERE a % 2 = 0", "INSERT INTO dropped VALUES (1, 'n')", "SET foreign_key_checks = 1; DELETE FROM tree WHERE id = 400; SET foreign_key_checks = 0"} {
		run(t, conn, "USE shop; "+use)
		run(t, conn, "USE shop_1; "+use)
	}
	sound(t, srv, conn, names)
}

// withNumbers replaces FROM n by the numbers.
func withNumbers(text string) string {
	for _, n := range []int{1000, 2000, 500, 150, 60} {
		text = strings.ReplaceAll(text, fmt.Sprintf(" FROM %d;", n), " FROM "+numbers(n)+";")
	}
	return text
}

// sound compares the clone with its template, and has the server check the clone's tables and their indexes.
func sound(t *testing.T, srv *servertest.Running, conn *sql.Conn, tables []string) {
	t.Helper()
	same(t, srv, "shop", "shop_1")
	for _, table := range tables {
		var name, op, kind, says string
		if err := conn.QueryRowContext(t.Context(), "CHECK TABLE shop_1."+table+" EXTENDED").Scan(&name, &op, &kind, &says); err != nil || says != "OK" {
			t.Errorf("check %s: %s (%v)", table, says, err)
		}
	}
}

// TestCopiesLeft gives up a clone when its files are copied and not imported yet. Nothing of that is in
// the way of the next of the same name, nor is what a server leaves that is killed then.
func TestCopiesLeft(t *testing.T) { servertest.Each(t, testCopiesLeft) }

func testCopiesLeft(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE shop; USE shop; CREATE TABLE bare (a int, name varchar(40)); INSERT INTO bare SELECT seq, seq FROM "+numbers(2000))
	db, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, stop := range map[string]func(cancel func()){"given up": func(cancel func()) { cancel() }, "killed": func(func()) { srv.Kill() }} {
		t.Run(name, func(t *testing.T) { leaveCopies(t, srv, db, stop) })
	}
}

func leaveCopies(t *testing.T, srv *servertest.Running, db *sql.DB, stop func(cancel func())) {
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	shape := read(t, conn, "shop")
	shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shape.Files.Copied(func() { stop(cancel) })
	if _, err := shape.Clone(ctx, conn, "shop_1"); err == nil {
		t.Fatal("no error")
	}
	if err := db.PingContext(t.Context()); err != nil {
		srv.Restart(t)
	}
	again, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := template.Drop(t.Context(), again, "shop_1", srv.DataDir()); err != nil {
		t.Fatal(err)
	}
	shape.Files.Copied(nil)
	if _, err := shape.Clone(t.Context(), again, "shop_1"); err != nil {
		t.Fatal(err)
	}
	if shape.Files.Failed() {
		t.Error("it was not made of files")
	}
	same(t, srv, "shop", "shop_1")
	run(t, again, "DROP DATABASE shop_1")
}
