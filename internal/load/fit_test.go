package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fit"
)

// fitted loads a dump with options as the application's account, and returns what was told.
func (s *stand) fitted(t *testing.T, o fit.Options, text string) (said string, err error) {
	t.Helper()
	s.clear(t)
	var lines []string
	to := Target{Server: s.Server, Endpoint: s.Endpoint, Fit: o, Say: func(format string, args ...any) {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
	}}
	to.Endpoint.Database = database
	_, err = to.Load(t.Context(), "test.sql", strings.NewReader(text))
	return strings.Join(lines, "\n"), err
}

// asked returns the first column of the answer to a query.
func (s *stand) asked(t *testing.T, query string) (list []string) {
	t.Helper()
	if err := dbconn.Query(t.Context(), s.db, query, func(c []string) error {
		list = append(list, strings.Join(c, " "))
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

// TestSettingsYield has settings that the server refuses, which change nothing of what is loaded, between others that do.
func TestSettingsYield(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		said, err := s.fitted(t, fit.Options{}, "SET @@SESSION.SQL_LOG_BIN = 0;\n"+
			"SET @a = 'kept', pxc_strict_mode = DISABLED, sql_mode = 'NO_AUTO_CREATE_USER,ANSI_QUOTES';\n"+
			"SET GLOBAL no_such_setting = 1;\nSET SESSION version = 'x';\n"+
			"CREATE TABLE \"t\" (a VARCHAR(20), b TEXT);\nINSERT INTO t VALUES (@a, @@sql_mode);\n")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said, "test.sql sets sql_log_bin, pxc_strict_mode (unknown to this server), global no_such_setting (unknown to this server), version;") {
			t.Error(said)
		}
		want := "kept ANSI_QUOTES"
		if s.Flavour == "mariadb" {
			want = "kept ANSI_QUOTES,NO_AUTO_CREATE_USER"
		}
		if d := cmp.Diff([]string{want}, s.asked(t, "SELECT a, b FROM d.t")); d != "" {
			t.Error(d)
		}
		if _, err := s.fitted(t, fit.Options{}, "SET @a = 1, sql_mode = 'NO_SUCH_MODE';\nCREATE TABLE t (a INT);\n"); err == nil || !strings.Contains(err.Error(), "test.sql:1: ") || !strings.Contains(err.Error(), "NO_SUCH_MODE") {
			t.Errorf("a mode that nobody knows: %v", err)
		}
	})
}

// TestCollationsOfOthers has collations of the other flavour: refused with the option that helps, and mapped by it.
func TestCollationsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		other := "utf8mb4_uca1400_danish_as_cs"
		if s.Flavour == "mariadb" {
			other = "utf8mb4_ja_0900_as_cs"
		}
		text := "CREATE TABLE t (a VARCHAR(9) COLLATE " + other + ") DEFAULT CHARSET=utf8mb4;\nCREATE VIEW v AS SELECT a COLLATE " + other + " AS a FROM t;\n"
		if _, err := s.fitted(t, fit.Options{}, text); err == nil || !strings.Contains(err.Error(), "hint: --collations auto takes utf8mb4_") {
			t.Errorf("without the option: %v", err)
		}
		said, err := s.fitted(t, fit.Options{Collations: fit.Auto}, text)
		is := s.asked(t, "SELECT collation_name FROM information_schema.columns WHERE table_schema = 'd' AND table_name = 't'")
		if err != nil || len(is) != 1 || !strings.Contains(said, "collations that this server does not know: "+other+", taken as "+is[0]+" (2)") || !strings.HasSuffix(is[0], "as_cs") && is[0] != "utf8mb4_bin" && is[0] != "utf8mb4_nopad_bin" {
			t.Errorf("%v, %s, %v", is, said, err)
		}
		if _, err = s.fitted(t, fit.Options{Collations: other + "=utf8mb4_general_ci"}, text); err != nil || s.asked(t, "SELECT collation_name FROM information_schema.columns WHERE table_schema = 'd' AND table_name = 'v'")[0] != "utf8mb4_general_ci" {
			t.Errorf("named: %v", err)
		}
	})
}

// TestGeneratedValues has values for generated columns, which --fix leaves out.
func TestGeneratedValues(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		text := "SET sql_mode = 'STRICT_TRANS_TABLES';\nCREATE TABLE g (id INT PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a*2) STORED, c INT AS (a+1) VIRTUAL);\n" +
			"INSERT INTO g VALUES (1,2,DEFAULT,DEFAULT),\n(2,3,7,8);\nINSERT INTO g (id,a,b) VALUES (3,4,8), (4,'5' ,10) ;\n" +
			"CREATE TABLE allg (b INT GENERATED ALWAYS AS (1) STORED);\nINSERT INTO allg () VALUES (),();\nINSERT INTO allg VALUES (9);\n"
		if _, err := s.fitted(t, fit.Options{}, text); err == nil || !strings.Contains(err.Error(), "test.sql:4: ") || !strings.Contains(err.Error(), "hint: --fix ") {
			t.Errorf("without the option: %v", err)
		}
		said, err := s.fitted(t, fit.Options{Fix: true}, text)
		if err != nil || !strings.Contains(said, "g.b (3), g.c, allg.b") {
			t.Errorf("%v: %s", err, said)
		}
		if d := cmp.Diff([]string{"1 2 4 3", "2 3 6 4", "3 4 8 5", "4 5 10 6"}, s.asked(t, "SELECT * FROM d.g")); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"3"}, s.asked(t, "SELECT COUNT(*) FROM d.allg")); d != "" {
			t.Error(d)
		}
		if _, err := s.fitted(t, fit.Options{Fix: true}, text+"INSERT INTO g VALUES (5,\n6,7,8),\n(5,6,7,8);\n"); err == nil || !strings.Contains(err.Error(), "test.sql:10: ") {
			t.Errorf("the line of a row that is there: %v", err)
		}
	})
}

// TestForeignDefiners has definers that are no accounts: told, or made ours.
func TestForeignDefiners(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		const text = "CREATE TABLE t (a INT);\nCREATE DEFINER=`gone`@`%` SQL SECURITY DEFINER VIEW v AS SELECT a FROM t;\nCREATE DEFINER=`gone`@`%` PROCEDURE p() SELECT 1;\n"
		said, err := s.fitted(t, fit.Options{}, text)
		if err != nil || !strings.Contains(said, "gone@% (2)\nhint: --definers mine") {
			t.Errorf("%v: %s", err, said)
		}
		said, err = s.fitted(t, fit.Options{Definers: fit.Mine}, text+"SELECT * FROM v;\nCALL p();\n")
		if err != nil || !strings.Contains(said, "yours now: `gone`@`%` (2)") || strings.Contains(said, "hint") {
			t.Errorf("%v: %s", err, said)
		}
		if is := s.asked(t, "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'd' AND definer = CURRENT_USER()"); is[0] != "1" {
			t.Error(is)
		}
	})
}

// TestAccountsLeftOut has accounts, and the database of the server's own, of another server.
func TestAccountsLeftOut(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		const text = "CREATE USER a@b IDENTIFIED WITH no_such_plugin AS 'x';\nGRANT NO_SUCH_RIGHT ON *.* TO a@b;\nUSE mysql;\nDROP TABLE IF EXISTS user;\nCREATE TABLE user (a INT);\nINSERT INTO user VALUES (1);\n" +
			"CREATE DATABASE shop;\nUSE shop;\nCREATE TABLE user (a INT);\nINSERT INTO user VALUES (1);\n"
		if _, err := s.fitted(t, fit.Options{}, text); err == nil || !strings.Contains(err.Error(), "test.sql:1: ") || !strings.Contains(err.Error(), "hint: --accounts skip") {
			t.Errorf("without the option: %v", err)
		}
		said, err := s.fitted(t, fit.Options{Accounts: fit.Skip}, text)
		if err != nil || !strings.Contains(said, "accounts and rights, which were left out: CREATE, ALTER and DROP USER, GRANT and REVOKE, the database mysql (3)") {
			t.Errorf("%v: %s", err, said)
		}
		if is := s.asked(t, "SELECT COUNT(*) FROM shop.user"); is[0] != "1" {
			t.Error(is)
		}
	})
}
