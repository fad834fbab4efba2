package tests

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// atWork are statements that are at work, each in a session, when a base backup is made of which they do not know, and
// what is there before. MariaDB has done them then, and not logged them.
var atWork = []struct{ before, statement string }{
	{"", "CREATE TABLE made (id INT PRIMARY KEY)"},
	{"", "CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 3"},
	{"", "CREATE TABLE `p``a-r/t` (id INT PRIMARY KEY, b INT) PARTITION BY HASH (id) PARTITIONS 2"},
	{"CREATE TABLE keyed (id INT PRIMARY KEY, b INT)", "ALTER TABLE keyed ADD INDEX (b)"},
	{"CREATE TABLE copied (id INT PRIMARY KEY, b INT)", "ALTER TABLE copied ADD INDEX (b), ALGORITHM=COPY"},
	{"CREATE TABLE dropped (id INT PRIMARY KEY)", "DROP TABLE dropped"},
	{"CREATE TABLE shared (id INT PRIMARY KEY) PARTITION BY KEY () PARTITIONS 3", "DROP TABLE shared"},
	{"CREATE TABLE renamed (id INT PRIMARY KEY)", "RENAME TABLE renamed TO renamed2"},
	{"CREATE TABLE emptied (id INT PRIMARY KEY)", "TRUNCATE TABLE emptied"},
	{"CREATE TABLE fewer (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 5", "ALTER TABLE fewer COALESCE PARTITION 1"},
	{"CREATE TABLE more (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 5", "ALTER TABLE more ADD PARTITION PARTITIONS 2"},
	{"CREATE TABLE cut (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20))", "ALTER TABLE cut DROP PARTITION a"},
	{"CREATE TABLE longer (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))", "ALTER TABLE longer ADD PARTITION (PARTITION b VALUES LESS THAN (20))"},
	{"CREATE TABLE again (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))", "ALTER TABLE again REORGANIZE PARTITION a INTO (PARTITION a1 VALUES LESS THAN (5), PARTITION a2 VALUES LESS THAN (10))"},
	{"CREATE TABLE alone (id INT PRIMARY KEY)", "CREATE TRIGGER a BEFORE INSERT ON alone FOR EACH ROW SET NEW.id = NEW.id + 1"},
	{"", "CREATE VIEW v AS SELECT 1 AS one"},
	{"", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1"},
	{"", "CREATE PROCEDURE p() SELECT 1"},
}

// TestFenceAmongDDL: a base backup that is made while sessions wait with DDL that is done and not logged, and the log behind
// it, give what there was.
func TestFenceAmongDDL(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.filled(t, "a")
	list := atWork
	if f.srv.Flavour == server.MariaDB {
		list = append(list,
			struct{ before, statement string }{"CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "ALTER TABLE versioned DROP SYSTEM VERSIONING"},
			struct{ before, statement string }{"", "CREATE SEQUENCE numbers"},
		)
	}
	for _, w := range list {
		if w.before != "" {
			f.exec(t, w.before)
		}
	}
	f.exec(t, "CREATE TABLE left_one (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "CREATE TABLE other (id INT PRIMARY KEY)", "INSERT INTO left_one VALUES (2), (4)", "INSERT INTO other VALUES (6)")
	f.hold(t)
	answers := []answer{f.send(numberRows("a"))}
	f.fences(t, 1)
	for _, w := range append(list, struct{ before, statement string }{"", "ALTER TABLE left_one EXCHANGE PARTITION p0 WITH TABLE other"}) {
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
	f.exec(t, "INSERT INTO parts VALUES (1), (2)", "INSERT INTO `p``a-r/t` VALUES (1, 1)", "INSERT INTO made VALUES (1)", "INSERT INTO keyed VALUES (1, 1)")
	look := func() picture.Picture {
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
	was := look()
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	if d := picture.Differences(look(), was); d != "" {
		t.Errorf("after the RAM was lost:\n%s", d)
	}
}
