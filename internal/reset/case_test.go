package reset_test

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

//go:embed testdata/farm.sql
var farm string

// cases are what a test can do to its database, and the ways by which that is put back;
// "refill" is also right where cascades are not logged and "rewind" where they are.
var cases = []struct {
	name, do string
	ways     string
}{
	{"nothing", "", "noop"},
	{"reads", "SELECT * FROM animal\nSELECT twice(2)\nSELECT * FROM heavy", "noop"},
	{"temporary tables", "CREATE TEMPORARY TABLE tt (a int) SELECT * FROM visit\nDROP TEMPORARY TABLE tt\nCREATE TEMPORARY TABLE animal (a int)\nINSERT INTO animal VALUES (1)\nDROP TEMPORARY TABLE animal", "noop"},
	{"analyze, optimize, flush", "ANALYZE TABLE animal\nOPTIMIZE TABLE visit\nCHECK TABLE animal", "noop"},

	{"inserts", "INSERT INTO visit VALUES ('2020-01-01', 9), ('2031-01-01', 9)\nINSERT INTO plain VALUES (9, 'x')", "rewind"},
	{"updates", "UPDATE plain SET name = CONCAT(name, 'z')\nUPDATE visit SET who = who + 10 ORDER BY who DESC", "rewind"},
	{"deletes", "DELETE FROM visit\nDELETE FROM plain WHERE id = 2", "rewind"},
	{"every type", "SET sql_mode = ''\nUPDATE alltypes SET i8 = -1, u64 = 18446744073709551615, dec1 = -0.001, f = 1.5e-30, d = -0.0, b = b'1', c = 'é', v = '', t = NULL, bl = 0x00ff, e = 'y', s = 'a,c', da = '0000-00-00', ti = '-838:59:59', dt = '1000-01-01 00:00:00.123456', ts = '2001-01-01 00:00:00.999', y = 1901, j = '[1, {\"a\": null}]', g = ST_GeomFromText('LINESTRING(0 0, 1 1)')", "rewind"},
	{"primary keys that change places", "UPDATE plain SET id = id + 100 ORDER BY id DESC\nUPDATE plain SET id = id - 99 ORDER BY id", "rewind"},
	{"the same row over and over", "INSERT INTO plain VALUES (50, 'a')\nUPDATE plain SET name = 'b' WHERE id = 50\nDELETE FROM plain WHERE id = 50\nINSERT INTO plain VALUES (50, 'c')\nREPLACE INTO plain VALUES (50, 'd'), (1, 'e')", "rewind"},
	{"several tables in one statement", "UPDATE plain, visit SET plain.name = 'm', visit.who = visit.who + 1000 WHERE plain.id = 1", "rewind"},
	{"no key, duplicate rows", "INSERT INTO note VALUES ('x'), ('x'), (NULL)\nDELETE FROM note WHERE line = 'x' LIMIT 2\nUPDATE note SET line = 'y' LIMIT 1", "rewind refill"},
	{"MyISAM", "INSERT INTO old VALUES (7, 'x')\nUPDATE old SET b = 'q' WHERE a = 1\nDELETE FROM old WHERE a = 2", "refill"},
	{"MyISAM without deletes", "INSERT INTO old VALUES (7, 'x')\nUPDATE old SET b = 'q' WHERE a = 1", "refill"},
	{"MyISAM in a transaction that is rolled back", "BEGIN\nINSERT INTO plain VALUES (60, 'gone')\nINSERT INTO old VALUES (8, 'stays')\nROLLBACK", "rewind refill"},
	{"LOAD DATA and INSERT ... SELECT", "INSERT INTO plain SELECT id + 100, name FROM plain\nINSERT INTO plain SELECT id + 200, name FROM plain", "rewind refill"},
	{"many rows", "INSERT INTO plain SELECT 1000 + a.id * 1000 + b.who * 100 + c.a * 10 + d.a, 'n' FROM plain a, visit b, old c, old d", "rewind refill"},
	{"triggers", "INSERT INTO animal (keeper, name, cage) VALUES (2, 'new', ST_GeomFromText('POINT(0 0)'))\nDELETE FROM animal WHERE id = 1", "rewind refill"},
	{"generated columns", "UPDATE keeper SET wage = wage + 1", "rewind"},
	{"generated columns before the only key", "UPDATE maze SET t = 'z' WHERE b = 2\nUPDATE maze SET b = b + 10\nDELETE FROM maze WHERE b = 11\nINSERT INTO maze (b) VALUES (1), (7)", "rewind"},
	{"a rule about a column that is computed", "UPDATE ruled SET c = 2\nUPDATE ruled SET a = 5 WHERE id = 3\nDELETE FROM ruled WHERE id = 1\nINSERT INTO ruled (id, a) VALUES (9, 9)", "rewind"},
	{"the only key is of a generated column", "UPDATE mirror SET t = 'z' WHERE b = 2\nUPDATE mirror SET b = b + 10\nDELETE FROM mirror WHERE b = 11\nINSERT INTO mirror (b) VALUES (1), (7)", "rewind refill"},
	{"a unique text, which has a hidden column", "UPDATE essay SET n = n + 1 -- mariadb\nUPDATE essay SET line = CONCAT(line, '!') -- mariadb\nDELETE FROM essay WHERE n = 3 -- mariadb\nINSERT INTO essay VALUES ('one', 9) -- mariadb", "rewind"},
	{"savepoints", "BEGIN\nINSERT INTO plain VALUES (70, 'a')\nSAVEPOINT s\nUPDATE plain SET name = 'lost'\nROLLBACK TO s\nINSERT INTO plain VALUES (71, 'b')\nCOMMIT", "rewind"},
	{"savepoint and MyISAM", "BEGIN\nINSERT INTO plain VALUES (70, 'a')\nSAVEPOINT s\nUPDATE plain SET name = 'lost'\nINSERT INTO old VALUES (9, 'stays')\nROLLBACK TO s\nCOMMIT", "rewind refill"},
	{"procedure", "CALL feed(1)", "rewind"},
	{"auto-commit off", "SET autocommit = 0\nINSERT INTO plain VALUES (80, 'a')\nCOMMIT\nSET autocommit = 1", "rewind"},

	{"cascade on delete", "DELETE FROM keeper WHERE id = 1", "rewind refill"},
	{"cascade on update", "UPDATE keeper SET id = 99 WHERE id = 1", "rewind refill"},
	{"set null", "DELETE FROM cage WHERE id = 1", "rewind refill"},
	{"cascade to grandchildren", "DELETE FROM keeper", "rewind refill"},
	{"restrict", "DELETE FROM meal WHERE food = 1\nDELETE FROM food WHERE id = 1\nINSERT INTO food VALUES (1, 'other')\nINSERT INTO meal VALUES (1, 1)", "rewind"},
	{"keys not checked", "SET foreign_key_checks = 0\nDELETE FROM keeper\nUPDATE animal SET keeper = 4711\nSET foreign_key_checks = 1", "rewind refill"},

	{"counter by an insert", "INSERT INTO counted (a) VALUES (1), (2)", "rewind"},
	{"counter by a rolled back insert", "BEGIN\nINSERT INTO counted (a) VALUES (1)\nROLLBACK", "noop rewind"},
	{"counter by a failed insert", "INSERT IGNORE INTO counted (id, a) VALUES (1, 1)\n-INSERT INTO counted (a, u) VALUES (5, 1)\n-INSERT INTO counted (a, u) VALUES (5, 1)", "noop rewind"},
	{"counter that a failed insert hides", "-INSERT INTO chip (id, code) VALUES (2, 77)\nBEGIN\nINSERT INTO animal (cage) VALUES (ST_GeomFromText('POINT(0 0)'))\nROLLBACK", "noop rewind"},
	{"counter that a failed insert hides, of a parent", "-INSERT INTO keeper (id, name) VALUES (4711, 'Ben')\nBEGIN\nINSERT INTO animal (cage) VALUES (ST_GeomFromText('POINT(0 0)'))\nROLLBACK", "noop rewind"},
	{"counter of an empty table", "BEGIN\nINSERT INTO empty_one VALUES (), ()\nROLLBACK", "noop rewind"},
	{"counter set", "ALTER TABLE counted AUTO_INCREMENT = 5000", "refill"},

	{"keys disabled", "ALTER TABLE old DISABLE KEYS", "refill"},
	{"keys disabled, rows inserted", "ALTER TABLE old DISABLE KEYS\nINSERT INTO old VALUES (7, 'x')\nALTER TABLE plain DISABLE KEYS", "refill"},
	{"truncate", "TRUNCATE TABLE toy\nTRUNCATE plain", "refill"},
	{"truncate and fill", "TRUNCATE TABLE plain\nINSERT INTO plain VALUES (1, 'another')\nUPDATE visit SET who = who + 50 ORDER BY who DESC", "refill"},
	{"create table", "CREATE TABLE extra (a int)\nINSERT INTO extra VALUES (1)\nCREATE TABLE extra2 AS SELECT * FROM plain\nCREATE TABLE extra3 LIKE plain", "refill"},
	{"drop table", "DROP TABLE plain\nDROP TABLE visit, old", "refill"},
	{"drop and create", "DROP TABLE plain\nCREATE TABLE plain (x int)\nINSERT INTO plain VALUES (1)", "refill"},
	{"alter table", "ALTER TABLE plain ADD COLUMN more int DEFAULT 3\nUPDATE plain SET more = 4", "refill"},
	{"alter and back", "ALTER TABLE plain ADD COLUMN more int DEFAULT 3\nUPDATE plain SET name = 'x'\nALTER TABLE plain DROP COLUMN more", "refill"},
	{"indexes", "CREATE INDEX by_name ON plain (name)\nALTER TABLE animal DROP KEY born", "refill"},
	{"rename", "RENAME TABLE plain TO plain2, visit TO plain\nINSERT INTO plain VALUES ('2020-02-02', 3)", "refill"},
	{"rename a parent", "RENAME TABLE keeper TO keeper2\nDELETE FROM keeper2 WHERE id = 1", "refill"},
	{"rename a column of a parent", "ALTER TABLE keeper RENAME COLUMN id TO kid", "refill"},
	{"new cascade", "ALTER TABLE meal DROP FOREIGN KEY eaten\nALTER TABLE meal ADD FOREIGN KEY (food) REFERENCES food (id) ON DELETE CASCADE\nDELETE FROM food", "refill"},
	{"partitions", "ALTER TABLE visit TRUNCATE PARTITION old\nALTER TABLE visit REORGANIZE PARTITION new INTO (PARTITION p1 VALUES LESS THAN (739000), PARTITION p2 VALUES LESS THAN MAXVALUE)", "refill"},
	{"partition exchange", "CREATE TABLE single (day date NOT NULL, who int NOT NULL, PRIMARY KEY (day, who))\nALTER TABLE visit EXCHANGE PARTITION old WITH TABLE single", "reclone"},
	{"views", "DROP VIEW heavy\nCREATE VIEW other AS SELECT 1 AS one\nCREATE OR REPLACE VIEW all_keepers AS SELECT 2 AS two", "refill"},
	{"routines", "DROP PROCEDURE feed\nCREATE PROCEDURE other() SELECT 1\nDROP FUNCTION twice\nCREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC RETURN n * 3", "refill"},
	{"trigger dropped", "DROP TRIGGER born_first\nINSERT INTO animal (name, cage) VALUES ('no trigger', ST_GeomFromText('POINT(0 0)'))", "refill"},
	{"trigger made", "CREATE TRIGGER counts AFTER INSERT ON plain FOR EACH ROW INSERT INTO old VALUES (NEW.id, 't')\nINSERT INTO plain VALUES (90, 'a')", "refill"},
	{"events", "CREATE EVENT other ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1\nALTER EVENT nightly COMMENT 'changed'", "refill"},
	{"database's character set", "ALTER DATABASE DB CHARACTER SET latin1", "refill"},
	{"database's comment", "ALTER DATABASE DB COMMENT 'x' -- mariadb", "refill"},
	{"database dropped and made", "DROP DATABASE DB\nCREATE DATABASE DB\nUSE DB\nCREATE TABLE plain (a int)", "reclone"},
	{"sequence", "SELECT NEXTVAL(tickets) -- mariadb", "rewind"},
	{"system versioning", "UPDATE history SET a = 5 -- mariadb", "reclone"},
	{"SET STATEMENT ... FOR", "SET STATEMENT max_statement_time = 9 FOR ALTER TABLE plain ADD COLUMN x int -- mariadb", "reclone"},
	{"EXECUTE IMMEDIATE", "EXECUTE IMMEDIATE 'ALTER TABLE plain ADD COLUMN x int' -- mariadb", "refill"},
	{"DDL in a procedure", "CREATE PROCEDURE p() ALTER TABLE plain ADD COLUMN x int\nUSE information_schema\nCALL DB.p()\nUSE DB", "refill"},
	{"DDL from elsewhere", "USE information_schema\nALTER TABLE DB.plain ADD COLUMN x int\nTRUNCATE DB /* . */ . visit\nUSE DB", "refill"},
	{"DDL in another character set", "CREATE TABLE größe (a int)\nSET NAMES latin1\nALTER TABLE plain COMMENT '\xe4'\nSET NAMES utf8mb4", "reclone"},
	{"rename a parent that restricts", "RENAME TABLE food TO rename_of_food", "refill"},
	{"rename a column of a parent that restricts", "ALTER TABLE food RENAME COLUMN id TO fid", "refill"},
	{"a copy of a table", "CREATE TABLE copy_of AS SELECT * FROM plain\nDROP TABLE copy_of\nCREATE TABLE copy_of LIKE plain\nRENAME TABLE copy_of TO Plain", "refill"},
	{"tables that are missing", "DROP TABLE IF EXISTS nothing, plain, heavy\nDROP VIEW IF EXISTS heavy, nothing", "refill"},
	{"a quote that opens nothing", "ALTER TABLE food COMMENT 'odd ` tick', RENAME TO `we``ird; \"food\"`\nDROP TABLE /* ` */ `we``ird; \"name\"`", "refill"},
	{"a table called as the template", "CREATE TABLE farm (a int)\nALTER TABLE farm ADD COLUMN b int\nDROP TABLE farm\nDROP TABLE plain", "refill"},
	{"rename a column, convert", "ALTER TABLE keeper CONVERT TO CHARACTER SET latin1\nALTER TABLE keeper DROP COLUMN initial, DROP COLUMN year\nALTER TABLE visit RENAME COLUMN who TO whom", "refill"},
	{"no key, one more of the same", "INSERT INTO note VALUES ('x')", "refill"},
	{"no key, one becomes the same", "UPDATE note SET line = 'x' WHERE line = 'z'", "refill"},
	{"on duplicate key, replace a parent", "INSERT INTO plain VALUES (1, 'q'), (77, 'q') ON DUPLICATE KEY UPDATE name = 'dup'\nREPLACE INTO keeper (id, name) VALUES (1, 'new')", "rewind refill"},
	{"counters far away", "INSERT INTO counted (id, a) VALUES (2147483647, 1)\nINSERT INTO counted (id, a) VALUES (-5, 1)\nINSERT INTO animal (id, cage) VALUES (9223372036854775000, ST_GeomFromText('POINT(0 0)'))", "rewind refill"},
	{"temporary tables in a transaction", "BEGIN\nINSERT INTO plain VALUES (66, 'a')\nCREATE TEMPORARY TABLE tt (a int)\nINSERT INTO tt VALUES (1)\nSAVEPOINT s\nINSERT INTO plain VALUES (67, 'b')\nDROP TEMPORARY TABLE tt\nROLLBACK TO s\nCOMMIT", "rewind refill"},
	{"views of another database", "CREATE VIEW theirs AS SELECT * FROM information_schema.tables\nCREATE VIEW ours AS SELECT id FROM DB.animal", "refill"},
	{"names in quotes and comments", "ALTER TABLE /* a comment */ `we``ird; \"name\"` COMMENT 'it''s `plain`'\nINSERT INTO `we``ird; \"name\"` VALUES (8, 9)", "refill"},
}

// TestCases does what can be done to a database, one after the other, and puts it back
// each time. Connections stay open, as those of a pool do.
func TestCases(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		schema := servertest.Find(t, want)
		l := newLab(t, want, "farm", servertest.Flavoured(schema, farm))
		le, other := l.lease("farm_1"), l.lease("farm_2")
		for _, tc := range cases {
			statements := servertest.Flavoured(schema, tc.do)
			if tc.do != "" && statements == "" {
				continue
			}
			t.Run(tc.name, func(t *testing.T) {
				le.t, other.t, l.t = t, t, t
				o := other.do("INSERT INTO plain VALUES (4711, 'of another lease')\nSELECT * FROM keeper")
				defer o.Close()
				t.Cleanup(func() { // the next case begins with what this one should have left
					for _, l := range []*lease{le, other} {
						if t.Failed() {
							_, _ = l.Reset(context.WithoutCancel(t.Context()), l.session, &l.Database, reset.RestoreCounters)
						}
					}
				})
				conn := le.do(statements)
				defer conn.Close()
				// A dump cannot be made of views without their table.
				if !strings.Contains(tc.ways, "noop") && !strings.HasPrefix(tc.name, "rename a") && tc.name != "tables that are missing" && le.dump() == le.fresh {
					t.Error("nothing was changed")
				}
				res := le.reset()
				if !strings.Contains(" "+tc.ways+" ", " "+string(res.Way)+" ") {
					t.Errorf("the way was %s (%s), want %s", res.Way, res.Why, tc.ways)
				}
				// Once more: there is nothing left to be done, and the connection lives.
				if res := le.reset(); res.Way != reset.Noop {
					t.Errorf("a second reset found something: %s (%s)", res.Way, res.Why)
				}
				if _, err := conn.ExecContext(t.Context(), "SELECT COUNT(*) FROM plain"); err != nil {
					t.Errorf("the connection died: %v", err)
				}
				var n int
				if err := other.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM plain WHERE id = 4711").Scan(&n); err != nil || n != 1 {
					t.Errorf("the other lease was touched: %d (%v)", n, err)
				}
				if res := other.reset(); res.Way != reset.Undo {
					t.Errorf("the other lease: %s (%s)", res.Way, res.Why)
				}
			})
		}
	})
}
