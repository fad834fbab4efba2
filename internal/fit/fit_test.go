package fit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fit"
)

// collations are those that a server knows.
type collations []string

func (c collations) KnowsCollation(_ context.Context, name string) (bool, error) {
	return slices.Contains(c, name), nil
}

var known = collations{"utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_nopad_ai_ci", "utf8mb3_general_ci"}

const owner = "`app`@`localhost`"

// TestStatement has what statements become. "" is left out, and "=" stays as it is.
func TestStatement(t *testing.T) {
	auto, mine, skip := fit.Options{Collations: fit.Auto}, fit.Options{Definers: fit.Mine}, fit.Options{Accounts: fit.Skip}
	for _, tt := range []struct {
		options fit.Options
		owner   string
		text    string
		want    string
		note    string
	}{
		{text: "CREATE DEFINER=`a`@`%` VIEW v AS SELECT 1 COLLATE utf8mb4_0900_ai_ci", want: "="},
		{text: "CREATE USER a; DROP TABLE t", want: "="},
		{text: "CREATE VIEW v AS SELECT 1", want: "="},
		{text: "SET GLOBAL a = 1, @b = 2, @@GLOBAL.c = 3, SESSION d = @@GLOBAL.d", want: "SET @b = 2, SESSION d = @@GLOBAL.d", note: "f sets global a, global c; that stays as it is here"},
		{text: "SET GLOBAL a = 1, b = 2, @c = 3, @@d = 4, SESSION e = 5, f = 6", want: "SET @c = 3, @@d = 4, SESSION e = 5, f = 6", note: "f sets global a, global b; that stays as it is here"},
		{text: "SET PERSIST a = 1", want: "", note: "f sets global a; that stays as it is here"},
		{text: "SET @a = @@GLOBAL.a", want: "="},
		{text: "SET sql_log_bin = 0", want: "", note: "f sets sql_log_bin; that stays as it is here"},

		{options: auto, text: "CREATE TABLE t (a int COLLATE utf8mb4_0900_ai_ci, b text COLLATE=UTF8MB4_0900_AI_CI) COLLATE = utf8mb4_0900_bin",
			want: "CREATE TABLE t (a int COLLATE utf8mb4_uca1400_nopad_ai_ci, b text COLLATE=utf8mb4_uca1400_nopad_ai_ci) COLLATE = utf8mb4_bin",
			note: "f has collations that this server does not know: utf8mb4_0900_ai_ci, taken as utf8mb4_uca1400_nopad_ai_ci (2), utf8mb4_0900_bin, taken as utf8mb4_bin"},
		{options: auto, text: "SET NAMES utf8mb4 COLLATE utf8mb4_de_pb_0900_ai_ci", want: "SET NAMES utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci"},
		{options: auto, text: "SET collation_connection = utf8mb4_0900_ai_ci", want: "SET collation_connection = utf8mb4_uca1400_nopad_ai_ci"},
		{options: auto, text: "CREATE TABLE t (a text COMMENT 'COLLATE utf8mb4_0900_ai_ci', collate_ int)", want: "="},
		{options: auto, text: "CREATE TABLE t (a text COLLATE utf8mb4_general_ci)", want: "="},
		{options: auto, text: "CREATE TABLE t (a text COLLATE klingon_ci)", want: "="},
		{options: fit.Options{Collations: "utf8mb4_0900_ai_ci=utf8mb4_bin"}, text: "CREATE TABLE t (a text COLLATE utf8mb4_0900_ai_ci, b text COLLATE utf8mb4_0900_as_cs)",
			want: "CREATE TABLE t (a text COLLATE utf8mb4_bin, b text COLLATE utf8mb4_0900_as_cs)"},

		{options: mine, text: "CREATE DEFINER=`a`@`%` VIEW v AS SELECT 1", want: "CREATE  VIEW v AS SELECT 1", note: "f names other definers; what it brings is yours now: `a`@`%`"},
		{options: mine, owner: owner, text: "CREATE ALGORITHM=MERGE DEFINER = 'a'@'%' SQL SECURITY DEFINER VIEW v AS SELECT 1", want: "CREATE ALGORITHM=MERGE DEFINER=" + owner + " SQL SECURITY DEFINER VIEW v AS SELECT 1"},
		{options: mine, text: "CREATE DEFINER=CURRENT_USER() PROCEDURE p() SELECT 1", want: "CREATE  PROCEDURE p() SELECT 1"},
		{options: mine, text: "CREATE DEFINER=admin TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET @definer='DEFINER=x'", want: "CREATE  TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET @definer='DEFINER=x'"},
		{options: mine, text: "CREATE TABLE t (definer int)", want: "="},
		{owner: owner, text: "CREATE VIEW v AS SELECT 1", want: "CREATE DEFINER=" + owner + " VIEW v AS SELECT 1"},
		{owner: owner, text: "CREATE OR REPLACE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW v AS SELECT 1", want: "CREATE OR REPLACE ALGORITHM = TEMPTABLE DEFINER=" + owner + " SQL SECURITY INVOKER VIEW v AS SELECT 1"},
		{owner: owner, text: "CREATE AGGREGATE FUNCTION f() RETURNS INT BEGIN END", want: "CREATE DEFINER=" + owner + " AGGREGATE FUNCTION f() RETURNS INT BEGIN END"},
		{owner: owner, text: "CREATE DEFINER=CURRENT_USER() SQL SECURITY INVOKER VIEW v AS SELECT 1", want: "CREATE DEFINER=" + owner + " SQL SECURITY INVOKER VIEW v AS SELECT 1"},
		{owner: owner, text: "DROP PROCEDURE IF EXISTS p; DROP VIEW v;\nCREATE PROCEDURE p() BEGIN DROP VIEW w; CREATE VIEW w AS SELECT 1; END", want: "DROP PROCEDURE IF EXISTS p; DROP VIEW v;\nCREATE DEFINER=" + owner + " PROCEDURE p() BEGIN DROP VIEW w; CREATE VIEW w AS SELECT 1; END"},
		{options: mine, text: "DROP VIEW v; CREATE DEFINER=`a`@`%` VIEW v AS SELECT 1", want: "DROP VIEW v; CREATE  VIEW v AS SELECT 1"},
		{owner: owner, text: "DROP VIEW v; DROP VIEW w", want: "="},
		{owner: owner, text: "CREATE FUNCTION f RETURNS INTEGER SONAME 'udf.so'", want: "="},
		{owner: owner, text: "CREATE DEFINER=`a`@`%` VIEW v AS SELECT 1", want: "="},
		{owner: owner, text: "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", want: "CREATE DEFINER=" + owner + " EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1"},

		{options: skip, text: "CREATE USER 'a'@'%' IDENTIFIED BY 'b'", want: "", note: "f has accounts and rights, which were left out: CREATE, ALTER and DROP USER"},
		{options: skip, text: "CREATE OR REPLACE ROLE a", want: ""},
		{options: skip, text: "GRANT ALL ON *.* TO a", want: "", note: "f has accounts and rights, which were left out: GRANT and REVOKE"},
		{options: skip, text: "SET PASSWORD FOR a = 'b'", want: ""},
		{options: skip, text: "SET DEFAULT ROLE a FOR b", want: ""},
		{options: skip, text: "FLUSH PRIVILEGES", want: ""},
		{options: skip, text: "CREATE TABLE mysql.user (a int)", want: "", note: "f has accounts and rights, which were left out: the database mysql"},
		{options: skip, text: "CREATE TABLE user (a int)", want: "="},
		{options: skip, text: "SET @a = 1", want: "="},
		{options: skip, text: "CREATE OR REPLACE VIEW v AS SELECT 1", want: "="},
	} {
		f, err := fit.New(tt.options, known, tt.owner)
		if err != nil {
			t.Fatal(err)
		}
		got, keep, err := f.Statement(t.Context(), []byte(tt.text), []byte(tt.text))
		want := tt.want
		if want == "=" {
			want = tt.text
		}
		if err != nil || string(got) != want || keep != (want != "") {
			t.Errorf("%s:\n%q, %v, want\n%q", tt.text, got, err, want)
		}
		if note := strings.Join(f.Notes("f"), "\n"); tt.note != "" && note != tt.note || (want == tt.text) && note != "" {
			t.Errorf("%s: note %q", tt.text, note)
		}
	}
}

// TestInVersionedComments has a clause that stands in a comment for some versions.
func TestInVersionedComments(t *testing.T) {
	const text = "/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`%`*/ /*!50003 TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a = 1 */"
	meant := "         CREATE            DEFINER=`a`@`%`            TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a = 1   "
	f, err := fit.New(fit.Options{Definers: fit.Mine}, known, "")
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := f.Statement(t.Context(), []byte(text), []byte(meant))
	if d := cmp.Diff(strings.Replace(text, "DEFINER=`a`@`%`", "", 1), string(got)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestSystemDatabases leaves out what goes to the server's own databases.
func TestSystemDatabases(t *testing.T) {
	f, err := fit.New(fit.Options{Accounts: fit.Skip}, known, "")
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, text := range []string{"CREATE DATABASE mysql", "USE mysql", "CREATE TABLE user (a int)", "LOCK TABLES user WRITE", "INSERT INTO user VALUES ", "INSERT INTO shop.item VALUES ", "USE shop", "CREATE TABLE user (a int)", "INSERT INTO user VALUES ", "INSERT INTO mysql.db VALUES "} {
		var keep bool
		if strings.HasPrefix(text, "INSERT") {
			keep = f.Rows([]byte(text))
		} else if _, keep, err = f.Statement(t.Context(), []byte(text), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if keep {
			kept = append(kept, text)
		}
	}
	if d := cmp.Diff([]string{"USE mysql", "INSERT INTO shop.item VALUES ", "USE shop", "CREATE TABLE user (a int)", "INSERT INTO user VALUES "}, kept); d != "" {
		t.Error(d)
	}
}

// TestYield has what is sent instead of a SET that was refused.
func TestYield(t *testing.T) {
	for _, tt := range []struct {
		text    string
		code    int
		message string
		want    string // "" for nothing, "!" for a fault that stands
	}{
		{"SET pxc_strict_mode = 1", 1193, "Unknown system variable 'pxc_strict_mode'", ""},
		{"SET GLOBAL max_allowed_packet = 1", 1227, "Access denied", ""},
		{"SET sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,ANSI'", 1231, "Variable 'sql_mode' can't be set to the value of 'NO_AUTO_CREATE_USER'", "SET sql_mode = 'STRICT_TRANS_TABLES,ANSI'"},
		{"SET sql_mode = 'ORACLE'", 1231, "Variable 'sql_mode' can't be set to the value of 'ORACLE'", "!"},
		{"SET character_set_client = 'x'", 1115, "Unknown character set: 'x'", "!"},
		{"INSERT INTO t VALUES (1)", 1193, "Unknown system variable 'x'", "!"},
	} {
		f, err := fit.New(fit.Options{}, known, "")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := f.Yield([]byte(tt.text), dbconn.Refusal{Code: tt.code, Message: tt.message})
		if ok != (tt.want != "!") || ok && string(got) != tt.want {
			t.Errorf("%s: %q, %v", tt.text, got, ok)
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"SET a = 1":                          "SET a = 1",
		"set a = f(1, 2), @b := 'x,y' , c=3": "SET a = f(1, 2)|SET @b := 'x,y'|SET c=3",
		"SET a = 1 /* , */, b = 2":           "SET a = 1 /* , */, b = 2",
		"INSERT INTO t VALUES (1),(2)":       "INSERT INTO t VALUES (1),(2)",
	} {
		var got []string
		for _, one := range fit.Split([]byte(text)) {
			got = append(got, string(one))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, o := range []fit.Options{{}, {Collations: "auto"}, {Collations: "a_ci=b_ci, c_ci=d_ci"}, {Definers: "mine", Accounts: "skip"}, {Definers: "keep", Accounts: "keep"}} {
		if err := o.Check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []fit.Options{{Collations: "a"}, {Collations: "a="}, {Collations: "a=b;c"}, {Collations: "a=b c"}, {Definers: "yours"}, {Accounts: "none"}} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), "\nhint: --") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
