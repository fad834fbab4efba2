package repeatable

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// ran are statements as clients send them, in order, and the kinds of what the server's log has of
// each: "" for what passes, nothing for a statement that is in no log.
var ran = []struct {
	sql   string
	kinds []string
	only  string
}{
	{"CREATE TABLE a (x INT) /*!99998 ENGINE=MEMORY */ /*!999999 SELECT 1 AS y */ /*!50100 PARTITION BY HASH (x) PARTITIONS 2 */", []string{""}, ""},
	{"PREPARE s FROM 'CREATE TABLE prepared (x INT) /*!999999 SELECT 1 AS y */'", nil, ""},
	{"EXECUTE s", []string{""}, ""},
	{"CREATE TABLE a2 (x INT) ENGINE=InnoDB", []string{""}, ""},
	{"ALTER TABLE a2 ADD d1 DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)", []string{""}, ""},
	{"ALTER TABLE a2 ADD d2 DATETIME(6) DEFAULT (NOW(6) + INTERVAL 1 DAY), ALGORITHM=COPY", []string{""}, ""},
	{"ALTER TABLE a2 ADD u CHAR(36) DEFAULT (UUID())", []string{"function"}, "mariadb"},
	{"ALTER TABLE a2 ADD id INT AUTO_INCREMENT PRIMARY KEY", []string{"auto_increment"}, ""},
	{"ALTER TABLE a2 MODIFY id BIGINT AUTO_INCREMENT", []string{""}, ""},
	{"CREATE TABLE selected AS SELECT 1 AS z", []string{"", ""}, "mysql"}, // BEGIN, and rows follow
	{"CREATE TABLE selected AS SELECT 1 AS z", []string{""}, "mariadb"},
	{"CREATE TEMPORARY TABLE tmp (x INT)", nil, ""},
	{"ALTER TABLE tmp ADD y INT AUTO_INCREMENT KEY", nil, ""},
	{"DROP TEMPORARY TABLE tmp", nil, ""},
	{"DROP TABLE IF EXISTS nosuch", []string{""}, ""},
	{"SET default_storage_engine=MyISAM", nil, ""},
	{"CREATE TABLE other (x INT)", []string{""}, ""},
	{"SET default_storage_engine=InnoDB", nil, ""},
	{"CREATE USER u IDENTIFIED BY 'Secret-12345'", []string{""}, ""},
	{"ALTER USER u IDENTIFIED BY 'Secret-22345'", []string{""}, ""},
	{"GRANT SELECT ON *.* TO u", []string{""}, ""},
	{"CREATE EVENT ev ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 DAY DO SELECT RAND()", []string{""}, ""},
	{"CREATE EVENT ev2 ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 + FLOOR(RAND() * 9) DAY DO SELECT 1", []string{"function"}, ""},
	{"CREATE VIEW v AS SELECT 1", []string{""}, ""},
	{"CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1", []string{""}, ""},
	{"CREATE PROCEDURE p() BEGIN DROP TABLE IF EXISTS zz; CREATE TABLE zz (x INT); END", []string{""}, ""},
	{"CALL p()", []string{"", ""}, ""},
	{"CREATE TRIGGER tr BEFORE INSERT ON a FOR EACH ROW SET NEW.x = RAND()", []string{""}, ""},
	{"SET NAMES latin1", nil, ""},
	{"CREATE TABLE l (x VARCHAR(9) DEFAULT 'é')", []string{""}, ""},
	{"SET NAMES gbk", nil, ""},
	{"CREATE TABLE g (x VARCHAR(9) DEFAULT '\x95\x5c')", []string{"charset"}, ""},
	{"SET NAMES utf8mb4", nil, ""},
	{"SET SESSION sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'", nil, ""},
	{`CREATE TABLE "q" ("x" VARCHAR(9) DEFAULT '\') SELECT 1 AS "x"`, []string{"", ""}, "mysql"},
	{`CREATE TABLE "q2" ("x" VARCHAR(9) DEFAULT '\', "y" INT DEFAULT 0)`, []string{""}, ""},
	{`ALTER TABLE "q2" ADD "z" VARCHAR(9) DEFAULT '\', ADD "n" INT AUTO_INCREMENT KEY`, []string{"auto_increment"}, ""},
	{"SET SESSION sql_mode=DEFAULT", nil, ""},
	{"ALTER TABLE a2 DISCARD TABLESPACE", []string{"tablespace"}, ""},
	{"DROP TABLE a2", []string{""}, ""},
	{"SET sql_generate_invisible_primary_key=1", nil, "mysql"},
	{"CREATE TABLE gipk (x INT)", []string{""}, "mysql"},
	{"CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd'", []string{"tablespace"}, "mysql"},
	{"SET STATEMENT innodb_strict_mode=OFF FOR CREATE TABLE lax (x INT) KEY_BLOCK_SIZE=15", []string{""}, "mariadb"},
	{"SET STATEMENT sql_mode='ANSI_QUOTES' FOR CREATE TABLE ansi (x INT) COMMENT 'x'", []string{"unknown"}, "mariadb"},
	{"SET binlog_alter_two_phase=1", nil, "mariadb"},
	{"CREATE TABLE swap (a INT KEY, b INT)", []string{""}, "mariadb"},
	{"ALTER TABLE swap CHANGE a b INT, CHANGE b a INT", []string{"", ""}, "mariadb"},
	{"ALTER TABLE swap MODIFY b INT AUTO_INCREMENT", []string{"auto_increment", "auto_increment"}, "mariadb"},
	{"SET binlog_alter_two_phase=0", nil, "mariadb"},
	{"CREATE SEQUENCE sq", []string{""}, "mariadb"},
	{"SET binlog_format=STATEMENT", nil, "mariadb"},
	{"DELETE FROM other", []string{"dml"}, "mariadb"},
	{"CREATE TABLE stmt SELECT 1 AS z", []string{"create_select"}, "mariadb"},
	{"CREATE TEMPORARY TABLE tmp (x INT)", []string{"temporary"}, "mariadb"},
}

// TestLogged runs statements on real servers and judges what their logs have of them.
func TestLogged(t *testing.T) { servertest.EachAlways(t, testLogged) }

func testLogged(t *testing.T, want string) {
	t.Parallel()
	r := startReal(t, want)
	j := New(r.mysql)
	for _, c := range ran {
		if c.only != "" && c.only != map[bool]string{true: "mysql", false: "mariadb"}[r.mysql] {
			continue
		}
		if err := r.exec(c.sql); err != nil {
			t.Logf("%s: %v", c.sql, err)
		}
		var kinds []string
		all := r.read(j)
		for _, l := range all {
			if l.query != nil && l.kind == binlog.QueryEvent && string(l.query.SQL) != "COMMIT" {
				kinds = append(kinds, l.verdict.Kind)
			}
		}
		if !slices.Equal(kinds, c.kinds) {
			t.Errorf("%s: %q, not %q\n%v", c.sql, kinds, c.kinds, all)
		}
	}
}

// TestCorpusLogged runs what tools emit: whatever a server writes of it into its log passes.
func TestCorpusLogged(t *testing.T) { servertest.Each(t, testCorpusLogged) }

func testCorpusLogged(t *testing.T, want string) {
	t.Parallel()
	r := startReal(t, want)
	j := New(r.mysql)
	n := 0
	for file, statements := range corpus(t) {
		if strings.Contains(file, map[bool]string{true: ".mariadb.", false: ".mysql."}[r.mysql]) {
			continue
		}
		for _, s := range []string{"DROP DATABASE shop", "CREATE DATABASE shop", "USE shop"} {
			if err := r.exec(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range statements {
			if strings.Contains(s, "PACKAGE") || strings.Contains(s, "DROP DATABASE") || strings.Contains(s, "DROP SCHEMA") {
				continue
			}
			_ = r.exec(s) // many are of tables that are not there
			for _, l := range r.read(j) {
				if l.verdict.Fence != "" {
					t.Errorf("%s: %s\n%s", file, s, l)
				}
				if l.query != nil {
					n++
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("%d statements were logged", n)
	}
}

// TestFractionLogged shows what the judge builds on: an event that is written after its statement
// has the fraction of the second, if any of the rows got it.
func TestFractionLogged(t *testing.T) { servertest.EachAlways(t, testFractionLogged) }

func testFractionLogged(t *testing.T, want string) {
	t.Parallel()
	r := startReal(t, want)
	j := New(r.mysql)
	for _, s := range []string{
		"SET explicit_defaults_for_timestamp=0", "SET sql_mode=''",
		"CREATE TABLE t (x INT, n DATETIME(6) NULL, m TIMESTAMP(6) NULL) ENGINE=InnoDB", "INSERT INTO t (x) VALUES (1)",
	} {
		if err := r.exec(s); err != nil {
			t.Fatal(err)
		}
	}
	r.read(j)
	for _, s := range []string{
		"ALTER TABLE t ADD a DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
		"ALTER TABLE t ADD b DATETIME(3) NOT NULL DEFAULT NOW(3), ALGORITHM=COPY",
		"ALTER TABLE t ADD c DATETIME(6) DEFAULT (NOW(6) + INTERVAL 1 DAY)",
		"ALTER TABLE t ADD d TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
		"ALTER TABLE t MODIFY m TIMESTAMP(6) NOT NULL DEFAULT '2020-01-01'",
		"ALTER TABLE t CHANGE n n TIMESTAMP(6) NOT NULL DEFAULT '2020-01-01'",
	} {
		if err := r.exec(s); err != nil {
			t.Fatal(s, err)
		}
		for _, l := range r.read(j) {
			if l.query == nil || string(l.query.SQL) != s {
				continue
			}
			if !l.query.Fraction || l.verdict.Fence != "" {
				t.Errorf("%s", l)
			}
		}
	}
}

// TestUTF8 shows what lifts the fence of MariaDB's utf8: the file of the table that was made.
func TestUTF8(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		if !strings.HasPrefix(want, "mariadb") {
			return // MySQL has no old_mode
		}
		t.Parallel()
		r := startReal(t, want)
		j := New(false)
		for i, c := range []struct {
			mode, sql   string
			lifts, same bool
		}{
			{"DEFAULT", "(x VARCHAR(9)) ENGINE=InnoDB DEFAULT CHARSET=utf8", true, true},
			{"DEFAULT", "(x VARCHAR(9)) CHARACTER SET utf8 COLLATE utf8_unicode_ci PARTITION BY KEY (x) PARTITIONS 2", true, true},
			{"DEFAULT", "(x VARCHAR(9)) COLLATE='utf8_bin'", true, true},
			{"''", "(x VARCHAR(9)) ENGINE=InnoDB DEFAULT CHARSET=utf8", true, false},
			{"''", "(x VARCHAR(9) CHARACTER SET utf8) CHARSET=utf8 COLLATE=utf8_bin", true, false},
			{"DEFAULT", "(x VARCHAR(9) CHARACTER SET utf8) CHARSET=utf8mb3", false, false},
			{"DEFAULT", "(x VARCHAR(9) CHARACTER SET utf8)", false, false},
		} {
			for _, s := range []string{"SET old_mode=" + c.mode, fmt.Sprintf("CREATE TABLE t%d %s", i, c.sql)} {
				if err := r.exec(s); err != nil {
					t.Fatal(s, err)
				}
			}
			for _, l := range r.read(j) {
				if l.query == nil {
					continue
				}
				if v := l.verdict; v.Kind != "charset" || len(v.UTF8) == 1 != c.lifts {
					t.Errorf("%s: %s", c.sql, l)
				}
			}
			frm, err := os.ReadFile(filepath.Join(r.DataDir(), "shop", fmt.Sprintf("t%d.frm", i)))
			if err != nil {
				t.Fatal(err)
			}
			if c.lifts && UTF8MB3(frm) != c.same {
				t.Errorf("old_mode=%s: %s: the file says %v", c.mode, c.sql, !c.same)
			}
		}
	})
}
