package dump

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeedOf(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Deed
	}{
		{"/*!40101 SET NAMES utf8 */", Deed{Kind: DeedSet}},
		{"SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'", Deed{Kind: DeedSet}},
		{"/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */", Deed{Kind: DeedSet}},
		{"SET @@SESSION.SQL_LOG_BIN= 0", Deed{Kind: DeedSet}},
		{"set autocommit=0, unique_checks=0", Deed{Kind: DeedSetTransactions}},
		{"SET @@GLOBAL.GTID_PURGED='x:1-5'", Deed{}},
		{"SET PASSWORD = 'x'", Deed{}},
		{"SET @a = (SELECT MAX(id) FROM t)", Deed{Kind: DeedMystery}},
		{"SET STATEMENT max_statement_time=1 FOR DELETE FROM t", Deed{Kind: DeedMystery}},
		{"SET TRANSACTION READ ONLY", Deed{Kind: DeedMystery}},
		{"SET insert_id = 5", Deed{Kind: DeedMystery}},
		{"USE `a``b`", Deed{Kind: DeedUse, Database: "a`b"}},
		{"CREATE TABLE `t` (a int)", Deed{Kind: DeedCreateTable, Table: "t"}},
		{"create or replace table if not exists d.`t` (a int)", Deed{Kind: DeedCreateTable, Database: "d", Table: "t"}},
		{"CREATE TEMPORARY TABLE t (a int)", Deed{Kind: DeedMystery}},
		{"DROP TABLE IF EXISTS `t`", Deed{Kind: DeedDropTable, Table: "t"}},
		{"DROP TABLE a, b", Deed{}},
		{"DROP DATABASE t", Deed{}},
		{"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `view`", Deed{}},
		{"/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 */", Deed{Kind: DeedAside}},
		{"CREATE DEFINER=`a`@`%` PROCEDURE p() BEGIN END", Deed{Kind: DeedAside}},
		{"CREATE AGGREGATE FUNCTION f RETURNS int SONAME 'x'", Deed{Kind: DeedAside}},
		{"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`%`*/ /*!50003 TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET @a=1 */", Deed{Kind: DeedTrigger, Table: "t"}},
		{"CREATE TRIGGER d.x AFTER UPDATE ON d.t FOR EACH ROW BEGIN END", Deed{Kind: DeedTrigger, Database: "d", Table: "t"}},
		{"DROP TRIGGER x", Deed{}},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", Deed{Kind: DeedAside}},
		{"CREATE UNIQUE INDEX i ON t (a)", Deed{}},
		{"LOCK TABLES `t` WRITE", Deed{Kind: DeedLock}},
		{"UNLOCK TABLES", Deed{Kind: DeedLock}},
		{"LOCK INSTANCE FOR BACKUP", Deed{Kind: DeedMystery}},
		{"/*!40000 ALTER TABLE `t` DISABLE KEYS */", Deed{Kind: DeedKeys, Table: "t"}},
		{"ALTER TABLE d.t ENABLE KEYS", Deed{Kind: DeedKeys, Database: "d", Table: "t"}},
		{"ALTER TABLE t DISABLE KEYS, ADD a int", Deed{}},
		{"ALTER TABLE t ADD KEY (a)", Deed{}},
		{"START TRANSACTION", Deed{Kind: DeedBegin}},
		{"BEGIN", Deed{Kind: DeedBegin}},
		{"BEGIN NOT ATOMIC DELETE FROM t; END", Deed{Kind: DeedMystery}},
		{"COMMIT", Deed{Kind: DeedCommit}},
		{"ROLLBACK", Deed{Kind: DeedRollback}},
		{"SELECT 'done'", Deed{Kind: DeedQuery}},
		{"SELECT COUNT(*) INTO @a FROM t", Deed{Kind: DeedMystery}},
		{"SELECT GET_LOCK('a', 1)", Deed{Kind: DeedMystery}},
		{"UPDATE t SET a = 1", Deed{Kind: DeedRows}},
		{"INSERT INTO t SELECT * FROM u", Deed{Kind: DeedRows}},
		{"TRUNCATE t", Deed{}},
		{"UPDATE t SET a = (@n := @n + 1)", Deed{Kind: DeedMystery}},
		{"CALL p()", Deed{Kind: DeedMystery}},
		{"FLUSH TABLES WITH READ LOCK", Deed{Kind: DeedMystery}},
		{"XA START 'a'", Deed{Kind: DeedMystery}},
		{"(SELECT 1)", Deed{Kind: DeedMystery}},
	} {
		if d := cmp.Diff(c.want, DeedOf([]byte(c.in), ";")); d != "" {
			t.Errorf("%s: %s", c.in, d)
		}
	}
}

func TestParseInsert(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Insert
	}{
		{"INSERT INTO `t` VALUES ", Insert{Table: "t", Plain: true}},
		{"insert d.`into`(`a``b`,c)values", Insert{Database: "d", Table: "into", Columns: []string{"a`b", "c"}, Plain: true}},
		{"INSERT LOW_PRIORITY IGNORE INTO t VALUES ", Insert{Table: "t"}},
		{"REPLACE INTO t (a) VALUES ", Insert{Table: "t", Columns: []string{"a"}}},
	} {
		if d := cmp.Diff(c.want, ParseInsert([]byte(c.in))); d != "" {
			t.Errorf("%s: %s", c.in, d)
		}
	}
}

func TestField(t *testing.T) {
	const row = ",\n( 1 ,'a,)(',NULL,_binary 'x' , -2.5)"
	for n, want := range []string{"1", "'a,)('", "NULL", "_binary 'x'", "-2.5", ""} {
		if got := string(NewScanner(strings.NewReader(""), "").Field([]byte(row), n)); got != want {
			t.Errorf("field %d is %q, want %q", n, got, want)
		}
	}
}

func TestKeyName(t *testing.T) {
	for in, want := range map[string]string{
		"KEY `a``b` (`c`)": "a`b", "UNIQUE KEY u (c)": "u", "unique index i (c)": "i",
		"CONSTRAINT `fk` FOREIGN KEY (a) REFERENCES p (id)": "fk", "CONSTRAINT c UNIQUE (a)": "c",
	} {
		if got := KeyName(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestWithoutComments(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT 1":                         "SELECT 1",
		"BEGIN\n  -- one\n  x; # two\nEND": "BEGIN\n  \n  x; \nEND",
		"a /* b */ c":                      "a  c",
		"a /* b */c":                       "a  c",
		"a /*!50003 b */ c /*M! d */":      "a /*!50003 b */ c /*M! d */",
		"'-- x' \"# y\" `/* z */` # -":     "'-- x' \"# y\" `/* z */` ",
		"a--b":                             "a--b",
		`'it\'s -- x' -- y`:                `'it\'s -- x' `,
		"a -- b":                           "a ",
		"a /* open":                        "a ",
	} {
		if got := string(NewScanner(strings.NewReader(""), "").WithoutComments([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
