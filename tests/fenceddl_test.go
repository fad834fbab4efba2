package tests

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// ddl is a statement, and what is there before it.
type ddl struct{ before, statement string }

// What MariaDB has done, and not logged, when a base backup is made for another statement: what is no fence itself, and what is.
var (
	atWork = []ddl{
		{"", "CREATE TABLE made (id INT PRIMARY KEY)"},
		{"", "CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 3"},
		{"", "CREATE TABLE `p``a-r/t` (id INT PRIMARY KEY, b INT) PARTITION BY HASH (id) PARTITIONS 2"},
		{"CREATE TABLE keyed (id INT PRIMARY KEY, b INT)", "ALTER TABLE keyed ADD INDEX (b)"},
		{"CREATE TABLE copied (id INT PRIMARY KEY, b INT)", "ALTER TABLE copied ADD INDEX (b), ALGORITHM=COPY"},
		{"CREATE TABLE dropped (id INT PRIMARY KEY)", "DROP TABLE dropped"},
		{"CREATE TABLE shared (id INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 3", "DROP TABLE shared"},
		{"CREATE TABLE renamed (id INT PRIMARY KEY)", "RENAME TABLE renamed TO renamed2"},
		{"CREATE TABLE emptied (id INT PRIMARY KEY)", "TRUNCATE TABLE emptied"},
		{"CREATE TABLE cut (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20))", "ALTER TABLE cut DROP PARTITION a"},
		{"CREATE TABLE longer (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))", "ALTER TABLE longer ADD PARTITION (PARTITION b VALUES LESS THAN (20))"},
		{"CREATE TABLE again (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))", "ALTER TABLE again REORGANIZE PARTITION a INTO (PARTITION a1 VALUES LESS THAN (5), PARTITION a2 VALUES LESS THAN (10))"},
		{"CREATE TABLE alone (id INT PRIMARY KEY)", "CREATE TRIGGER a BEFORE INSERT ON alone FOR EACH ROW SET NEW.id = NEW.id + 1"},
		{"", "CREATE VIEW v AS SELECT 1 AS one"},
		{"", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1"},
		{"", "CREATE PROCEDURE p() SELECT 1"},
	}
	atWorkMariaDB = []ddl{
		{"CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "ALTER TABLE versioned DROP SYSTEM VERSIONING"},
		{"", "CREATE SEQUENCE numbers"},
	}
	fencesAtWork = []ddl{
		{"CREATE TABLE fewer (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 5", "ALTER TABLE fewer COALESCE PARTITION 1"},
		{"CREATE TABLE more (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 5", "ALTER TABLE more ADD PARTITION PARTITIONS 2"},
		{"", "ALTER TABLE half EXCHANGE PARTITION p0 WITH TABLE other"},
	}
)

// TestFenceAmongDDL: a base backup that is made while sessions wait with DDL that is done and not logged, and the log behind
// it, give what there was.
func TestFenceAmongDDL(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	list := atWork
	if f.srv.Flavour == server.MariaDB {
		list = slices.Concat(atWork, atWorkMariaDB)
	}
	f.filled(t, "a")
	f.among(t, "a", list, "INSERT INTO parts VALUES (1), (2)", "INSERT INTO `p``a-r/t` VALUES (1, 1)", "INSERT INTO made VALUES (1)", "INSERT INTO keyed VALUES (1, 1)")
	f.exec(t, "CREATE TABLE half (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "CREATE TABLE other (id INT PRIMARY KEY)", "INSERT INTO half VALUES (2), (4)", "INSERT INTO other VALUES (6)")
	f.filled(t, "b")
	f.among(t, "b", fencesAtWork)
}

// among has statements at work while a base backup is made of which a table is to be numbered, and looks whether a recovery
// gives what there is then, and after some more statements.
func (f *fenced) among(t *testing.T, table string, list []ddl, then ...string) {
	t.Helper()
	for _, w := range list {
		if w.before != "" {
			f.exec(t, w.before)
		}
	}
	f.hold(t)
	answers := []answer{f.send(numberRows(table))}
	f.fences(t, 1)
	for _, w := range list {
		answers = append(answers, f.send(w.statement))
	}
	working := 0
	for end := time.Now().Add(soon); working < len(answers) && time.Now().Before(end); time.Sleep(stuckFor) { // and so long once more
		if err := f.root.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO REGEXP '^(ALTER|CREATE|DROP|RENAME|TRUNCATE)'").Scan(&working); err != nil {
			t.Fatal(err)
		}
	}
	if working != len(answers) {
		t.Errorf("%d of %d statements are at work", working, len(answers))
	}
	f.letGo(t)
	for i, a := range answers {
		a.comes(t, fmt.Sprintf("statement %d", i))
	}
	f.exec(t, then...)
	was := f.look(t)
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	f.same(t, was)
}

// same fails the test if the instance, which was recovered, is not as it was.
func (f *fenced) same(t *testing.T, was picture.Picture) {
	t.Helper()
	if d := picture.Differences(f.look(t), was); d != "" {
		t.Errorf("after the RAM was lost:\n%s", d)
	}
}

func (f *fenced) look(t *testing.T) picture.Picture {
	t.Helper()
	conn, err := f.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := picture.Look(t.Context(), conn, f.made.Endpoint.Database, picture.Blind{Order: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
