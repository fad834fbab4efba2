package dump

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// renamed returns the statements of a dump as Rename has them, rows behind a bar.
func renamed(t *testing.T, r Rename, text string) ([]string, error) {
	t.Helper()
	s := NewScanner(strings.NewReader(text), "x.sql")
	s.ByRows()
	r.To = "to`o"
	r.Begin()
	var out []string
	for {
		st, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		keep, err := r.Apply(&st, "x.sql")
		if err != nil {
			return out, err
		}
		if !keep {
			continue
		}
		line := strings.TrimSpace(string(st.Text))
		if st.Rows != nil {
			line += "|" + string(st.Rows)
		}
		out = append(out, line)
	}
}

func TestRename(t *testing.T) {
	const to = "`to``o`"
	for _, c := range []struct {
		name, in string
		from     Rename
		want     []string
	}{
		{"nothing named", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1);", Rename{}, []string{"CREATE TABLE t (a INT)", "INSERT INTO t VALUES|(1)"}},
		{"mysqldump --databases", "SET NAMES utf8;\nCREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 COLLATE latin1_bin */ /*!80016 DEFAULT ENCRYPTION='N' */;\nUSE `shop`;\nDROP TABLE IF EXISTS `t`;", Rename{New: true},
			[]string{"SET NAMES utf8", "ALTER DATABASE " + to + " CHARACTER SET latin1 COLLATE latin1_bin", "USE " + to, "DROP TABLE IF EXISTS `t`"}},
		{"a database that was there", "DROP DATABASE IF EXISTS shop; CREATE SCHEMA shop CHARSET=utf8mb4; use shop; ALTER DATABASE `shop` CHARACTER SET latin1;", Rename{}, []string{"USE " + to, "ALTER DATABASE " + to + " CHARACTER SET latin1"}},
		{"a collation of before, in a dump without a name", "CREATE TABLE shop (a INT); ALTER DATABASE `sh.op` CHARACTER SET latin1; CREATE VIEW v AS SELECT shop.a FROM shop; ALTER DATABASE CHARACTER SET utf8mb4; alter schema shop COLLATE utf8mb4_bin; ALTER DATABASE READ ONLY = 0;", Rename{}, []string{
			"CREATE TABLE shop (a INT)", "ALTER DATABASE " + to + " CHARACTER SET latin1", "CREATE VIEW v AS SELECT shop.a FROM shop", "ALTER DATABASE CHARACTER SET utf8mb4", "alter schema " + to + " COLLATE utf8mb4_bin", "ALTER DATABASE READ ONLY = 0",
		}},
		{"qualified before anything is made", "TRUNCATE TABLE shop.t; DELETE FROM `shop`.t; UPDATE shop.t SET a = 1; RENAME TABLE shop.t TO shop.u; CALL shop.p(); DROP VIEW shop.v; CREATE OR REPLACE VIEW shop.w AS SELECT a FROM shop.t; INSERT INTO shop.t VALUES (1);", Rename{}, []string{
			"TRUNCATE TABLE `t`", "DELETE FROM `t`", "UPDATE `t` SET a = 1", "RENAME TABLE `t` TO `u`", "CALL `p`()", "DROP VIEW `v`", "CREATE OR REPLACE VIEW `w` AS SELECT a FROM `t`", "INSERT INTO `t` VALUES|(1)",
		}},
		{"qualified", "CREATE TABLE `shop`.`t` (a INT, FOREIGN KEY (a) REFERENCES shop . u (a)); INSERT INTO shop.t VALUES (1),(2); INSERT INTO shop.t VALUES (3); INSERT INTO shop.shop SELECT 'shop.x', t.shop FROM shop.t;", Rename{}, []string{
			"CREATE TABLE `t` (a INT, FOREIGN KEY (a) REFERENCES  `u` (a))",
			"INSERT INTO `t` VALUES|(1),(2)", "INSERT INTO `t` VALUES|(3)", "INSERT INTO `shop` SELECT 'shop.x', t.shop FROM `t`",
		}},
		{"accounts and bodies", "USE shop; CREATE DEFINER=`shop`@`%` TRIGGER x BEFORE INSERT ON t FOR EACH ROW INSERT INTO shop.log VALUES (NEW.a) /* shop.x */;", Rename{}, []string{
			"USE " + to, "CREATE DEFINER=`shop`@`%` TRIGGER x BEFORE INSERT ON t FOR EACH ROW INSERT INTO `log` VALUES (NEW.a) /* shop.x */",
		}},
		{"reserved words, and rights", "USE shop; CREATE VIEW shop.order AS SELECT shop.order.group FROM shop.order; GRANT ALL ON shop.* TO x;", Rename{}, []string{
			"USE " + to, "CREATE VIEW `order` AS SELECT `order`.group FROM `order`", "GRANT ALL ON * TO x",
		}},
		{"one of two", "SET NAMES utf8; CREATE DATABASE a; USE a; CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SET @x = 1; CREATE DATABASE b; USE b; CREATE TABLE u (a INT); INSERT INTO t VALUES (2); INSERT INTO a.t VALUES (3); DROP DATABASE c;", Rename{From: "b"},
			[]string{"SET NAMES utf8", "SET @x = 1", "USE " + to, "CREATE TABLE u (a INT)", "INSERT INTO t VALUES|(2)"}},
		{"the one that was left", "USE b; CREATE TABLE u (a INT); CREATE TABLE a.t (a INT); USE a; INSERT INTO t VALUES (1);", Rename{From: "a"},
			[]string{"CREATE TABLE `t` (a INT)", "USE " + to, "INSERT INTO t VALUES|(1)"}},
	} {
		got, err := renamed(t, c.from, c.in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestRenameRefuses what would go elsewhere, or cannot be told.
func TestRenameRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"two databases":             {"USE a;\nUSE b;", "x.sql:2: the dump holds several databases, a and b\n  USE b\nhint: do"},
		"drops another":             {"USE a;\nDROP DATABASE main;", "x.sql:2: the dump holds several databases, a and main"},
		"table of another":          {"USE a;\nCREATE TABLE main.t (a INT);", "x.sql:2: the dump holds several databases, a and main"},
		"rows of another":           {"USE a;\nINSERT INTO main.t VALUES (1);", "x.sql:2: the dump holds several databases, a and main"},
		"removal of another":        {"USE a;\nDELETE FROM `main`.t;", "x.sql:2: the dump holds several databases, a and main"},
		"update of another":         {"USE a;\nUPDATE LOW_PRIORITY main.t SET a = 1;", "x.sql:2: the dump holds several databases, a and main"},
		"truncation of another":     {"USE a;\nTRUNCATE main.t;", "x.sql:2: the dump holds several databases, a and main"},
		"index of another":          {"USE a;\nCREATE INDEX i USING BTREE ON main.t (a);", "x.sql:2: the dump holds several databases, a and main"},
		"view of another":           {"USE a;\nDROP VIEW IF EXISTS main.v;", "x.sql:2: the dump holds several databases, a and main"},
		"call of another":           {"USE a;\nCALL main.p();", "x.sql:2: the dump holds several databases, a and main"},
		"query's rows":              {"USE a;\nREPLACE main.t SELECT 1;", "x.sql:2: the dump holds several databases, a and main"},
		"trigger of another":        {"USE a;\nCREATE TRIGGER x BEFORE INSERT ON main.t FOR EACH ROW SET @a = 1;", "a and main"},
		"a statement behind CREATE": {"CREATE DATABASE a\nINSERT INTO t VALUES (1);", "x.sql:1: what begins with this holds more than that"},
		"a statement behind DROP":   {"DROP DATABASE IF EXISTS a -- x\nINSERT INTO t VALUES (1);", "x.sql:1: what begins with this holds more than that"},
		"a statement behind USE":    {"USE a /* x */ INSERT INTO t VALUES (1);", "x.sql:1: what begins with this holds more than that"},
		"an alias of the name":      {"USE a;\nCREATE VIEW v AS SELECT a.id FROM t a;", "x.sql:2: a. stands before a name (line 2), and a is a table, a column or an alias as well (line 2)"},
		"a table of the name":       {"USE a;\nCREATE TABLE a (id INT);\nCREATE VIEW v AS SELECT a.id FROM t;", "x.sql:3: a. stands before a name (line 3), and a is a table, a column or an alias as well (line 2)"},
	} {
		if _, err := renamed(t, Rename{Hint: "do"}, c.in); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
