package dump

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		in   string
		want StatementClass
	}{
		{"/*!40101 SET NAMES utf8 */", StatementClass{Kind: StatementSet}},
		{"SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'", StatementClass{Kind: StatementSet}},
		{"/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */", StatementClass{Kind: StatementSet}},
		{"SET @@SESSION.SQL_LOG_BIN= 0", StatementClass{Kind: StatementSet}},
		{"set autocommit=0, unique_checks=0", StatementClass{Kind: StatementSetTransactions}},
		{"SET @@GLOBAL.GTID_PURGED='x:1-5'", StatementClass{}},
		{"SET PASSWORD = 'x'", StatementClass{}},
		{"SET @a = (SELECT MAX(id) FROM t)", StatementClass{Kind: StatementUnknown}},
		{"SET STATEMENT max_statement_time=1 FOR DELETE FROM t", StatementClass{Kind: StatementUnknown}},
		{"SET TRANSACTION READ ONLY", StatementClass{Kind: StatementUnknown}},
		{"SET insert_id = 5", StatementClass{Kind: StatementUnknown}},
		{"USE `a``b`", StatementClass{Kind: StatementUse, Database: "a`b"}},
		{"CREATE TABLE `t` (a int)", StatementClass{Kind: StatementCreateTable, Table: "t"}},
		{"create or replace table if not exists d.`t` (a int)", StatementClass{Kind: StatementCreateTable, Database: "d", Table: "t"}},
		{"CREATE TEMPORARY TABLE t (a int)", StatementClass{Kind: StatementUnknown}},
		{"DROP TABLE IF EXISTS `t`", StatementClass{Kind: StatementDropTable, Table: "t"}},
		{"DROP TABLE a, b", StatementClass{}},
		{"DROP DATABASE t", StatementClass{}},
		{"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `view`", StatementClass{}},
		{"/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n/*!50001 VIEW `v` AS select 1 */", StatementClass{Kind: StatementStoredObject}},
		{"CREATE DEFINER=`a`@`%` PROCEDURE p() BEGIN END", StatementClass{Kind: StatementStoredObject}},
		{"CREATE AGGREGATE FUNCTION f RETURNS int SONAME 'x'", StatementClass{Kind: StatementStoredObject}},
		{"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`%`*/ /*!50003 TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET @a=1 */", StatementClass{Kind: StatementTrigger, Table: "t"}},
		{"CREATE TRIGGER d.x AFTER UPDATE ON d.t FOR EACH ROW BEGIN END", StatementClass{Kind: StatementTrigger, Database: "d", Table: "t"}},
		{"DROP TRIGGER x", StatementClass{}},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", StatementClass{Kind: StatementStoredObject}},
		{"CREATE UNIQUE INDEX i ON t (a)", StatementClass{}},
		{"LOCK TABLES `t` WRITE", StatementClass{Kind: StatementLock}},
		{"UNLOCK TABLES", StatementClass{Kind: StatementUnlock}},
		{"LOCK TABLES d.`t` AS x READ LOCAL, u y LOW_PRIORITY WRITE, v write concurrent /* c */ -- d", StatementClass{Kind: StatementLock}},
		{"lock table t READ WAIT 10", StatementClass{Kind: StatementLock}},
		{"LOCK TABLES t WRITE\nINSERT INTO t VALUES (1)", StatementClass{Kind: StatementUnknown}},
		{"LOCK TABLES t READ, INSERT INTO t", StatementClass{Kind: StatementUnknown}},
		{"UNLOCK TABLES -- x\nINSERT INTO t VALUES (1)", StatementClass{Kind: StatementUnknown}},
		{"LOCK INSTANCE FOR BACKUP", StatementClass{Kind: StatementUnknown}},
		{"/*!40000 ALTER TABLE `t` DISABLE KEYS */", StatementClass{Kind: StatementKeys, Table: "t"}},
		{"ALTER TABLE d.t ENABLE KEYS", StatementClass{Kind: StatementKeys, Database: "d", Table: "t"}},
		{"ALTER TABLE t DISABLE KEYS, ADD a int", StatementClass{}},
		{"ALTER TABLE t ADD KEY (a)", StatementClass{}},
		{"START TRANSACTION", StatementClass{Kind: StatementBegin}},
		{"BEGIN", StatementClass{Kind: StatementBegin}},
		{"begin work /* x */", StatementClass{Kind: StatementBegin}},
		{"BEGIN WORK\nDELETE FROM t", StatementClass{Kind: StatementUnknown}},
		{"START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */", StatementClass{Kind: StatementBegin}},
		{"START TRANSACTION READ WRITE, WITH CONSISTENT SNAPSHOT", StatementClass{Kind: StatementBegin}},
		{"START TRANSACTION\nINSERT INTO t VALUES (1)", StatementClass{Kind: StatementUnknown}},
		{"BEGIN NOT ATOMIC DELETE FROM t; END", StatementClass{Kind: StatementUnknown}},
		{"START TRANSACTION READ ONLY", StatementClass{Kind: StatementUnknown}},
		{"COMMIT", StatementClass{Kind: StatementCommit}},
		{"commit work and no chain no release", StatementClass{Kind: StatementCommit}},
		{"COMMIT AND CHAIN", StatementClass{Kind: StatementCommit, Chain: true}},
		{"COMMIT AND CHAIN NO RELEASE", StatementClass{Kind: StatementCommit, Chain: true}},
		{"COMMIT RELEASE", StatementClass{Kind: StatementUnknown}},
		{"COMMIT\nDELETE FROM t", StatementClass{Kind: StatementUnknown}},
		{"COMMIT TO s", StatementClass{Kind: StatementUnknown}},
		{"ROLLBACK", StatementClass{Kind: StatementRollback}},
		{"ROLLBACK WORK AND NO CHAIN", StatementClass{Kind: StatementRollback}},
		{"ROLLBACK AND CHAIN", StatementClass{Kind: StatementRollback, Chain: true}},
		{"ROLLBACK TO s", StatementClass{Kind: StatementRollback, Chain: true}},
		{"ROLLBACK WORK TO SAVEPOINT `s`", StatementClass{Kind: StatementRollback, Chain: true}},
		{"ROLLBACK TO s DELETE", StatementClass{Kind: StatementUnknown}},
		{"SAVEPOINT s", StatementClass{Kind: StatementSavepoint}},
		{"RELEASE SAVEPOINT s", StatementClass{Kind: StatementSavepoint}},
		{"SAVEPOINT s\nDELETE FROM t", StatementClass{Kind: StatementUnknown}},
		{"SET @a = @@identity", StatementClass{Kind: StatementUnknown}},
		{"SET @a = @@warning_count", StatementClass{Kind: StatementUnknown}},
		{"SELECT 'done'", StatementClass{Kind: StatementQuery}},
		{"SELECT COUNT(*) INTO @a FROM t", StatementClass{Kind: StatementUnknown}},
		{"SELECT GET_LOCK('a', 1)", StatementClass{Kind: StatementUnknown}},
		{"UPDATE t SET a = 1", StatementClass{Kind: StatementRows}},
		{"INSERT INTO t SELECT * FROM u", StatementClass{Kind: StatementRows}},
		{"TRUNCATE t", StatementClass{}},
		{"UPDATE t SET a = (@n := @n + 1)", StatementClass{Kind: StatementUnknown}},
		{"CALL p()", StatementClass{Kind: StatementUnknown}},
		{"FLUSH TABLES WITH READ LOCK", StatementClass{Kind: StatementUnknown}},
		{"XA START 'a'", StatementClass{Kind: StatementUnknown}},
		{"(SELECT 1)", StatementClass{Kind: StatementUnknown}},
	} {
		if d := cmp.Diff(c.want, Classify([]byte(c.in), ";")); d != "" {
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
		{"INSERT LOW_PRIORITY IGNORE INTO t VALUES ", Insert{Table: "t", Ignore: true}},
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
