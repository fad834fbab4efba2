package load

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
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

// TestFit loads dumps of other servers, on one server of each kind.
func TestFit(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		for name, test := range map[string]func(*testing.T, *stand){
			"SettingsYield":                settingsYield,
			"CollationsOfOthers":           collationsOfOthers,
			"GeneratedValues":              generatedValues,
			"ForeignDefiners":              foreignDefiners,
			"AccountsLeftOut":              accountsLeftOut,
			"ZonesByName":                  zonesByName,
			"RowsBehindWhichASettingFails": rowsBehindWhichASettingFails,
			"Fix":                          fixes,
		} {
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

// settingsYield has settings that the server refuses, which change nothing of what is loaded, between others that do.
func settingsYield(t *testing.T, s *stand) {
	said, err := s.fitted(t, fit.Options{}, "SET @@SESSION.SQL_LOG_BIN = 0;\n"+
		"SET @a = 'kept', pxc_strict_mode = DISABLED, sql_mode = 'NO_AUTO_CREATE_USER,ANSI_QUOTES';\n"+
		"SET GLOBAL no_such_setting = 1;\nSET SESSION version = 'x';\n"+
		"CREATE TABLE \"t\" (a VARCHAR(20), b TEXT);\nINSERT INTO t VALUES (@a, @@sql_mode);\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "test.sql sets sql_log_bin, global no_such_setting, pxc_strict_mode (unknown to this server), version;") {
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
}

// collationsOfOthers has collations of the other flavour: refused with the option that helps, and mapped by it.
func collationsOfOthers(t *testing.T, s *stand) {
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
}

// generatedValues has values for generated columns, which --fix leaves out.
func generatedValues(t *testing.T, s *stand) {
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
}

// foreignDefiners has definers that are no accounts: told, or made ours.
func foreignDefiners(t *testing.T, s *stand) {
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
}

// accountsLeftOut has accounts, and the database of the server's own, of another server.
func accountsLeftOut(t *testing.T, s *stand) {
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
}

// zonesByName has a dump set a time zone that no server knows before, and compares what the server makes of it with
// what this program knows.
func zonesByName(t *testing.T, s *stand) {
	for _, name := range []string{"Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"} {
		said, err := s.fitted(t, fit.Options{}, "SET sql_mode = 'ANSI_QUOTES', time_zone = '"+name+"';\nCREATE TABLE t (n BIGINT, a DATETIME, m VARCHAR(99));\n"+
			"INSERT INTO t SELECT n, FROM_UNIXTIME(n), @@sql_mode FROM (SELECT 1 AS n UNION SELECT 500000000 UNION SELECT 1035680400 UNION SELECT 1035680399 UNION SELECT 1700000000 UNION SELECT 1720000000 UNION SELECT 2140000000) x;\n")
		if err != nil || !strings.Contains(said, "time zones by name, which the server knows now: "+name) {
			t.Fatalf("%s: %v: %s", name, err, said)
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range s.asked(t, "SELECT n, a, m FROM d.t") {
			n, is, _ := strings.Cut(row, " ")
			seconds, err := strconv.ParseInt(n, 10, 64)
			if want := time.Unix(seconds, 0).In(zone).Format("2006-01-02 15:04:05") + " ANSI_QUOTES"; err != nil || is != want {
				t.Errorf("%s: %s is %s, want %s", name, n, is, want)
			}
		}
	}
	if _, err := s.fitted(t, fit.Options{}, "SET time_zone = 'Mars/Olympus';\nCREATE TABLE t (a INT);\n"); err == nil || !strings.Contains(err.Error(), "test.sql:1: ") || !strings.Contains(err.Error(), "tzinfo") {
		t.Errorf("a zone that nobody knows: %v", err)
	}
}

// fixes has what the servers of today refuse, each refused with the option that helps, and taken with it.
func fixes(t *testing.T, s *stand) {
	wide := ""
	for i := range 120 {
		wide += fmt.Sprintf(", c%d VARCHAR(255) CHARACTER SET latin1", i)
	}
	cases := []struct {
		name, text string
		// mariadb and mysql are part of what is told, "" for a server that takes it anyway.
		mariadb, mysql string
	}{
		{"zero dates", "SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE';\nCREATE TABLE t (id INT PRIMARY KEY, a DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00') ENGINE=InnoDB;\nINSERT INTO t VALUES (1,'0000-00-00 00:00:00'),(2,'2024-00-10 00:00:00'),(3,'2024-01-01 00:00:00');\n", "zero dates", "zero dates"},
		{"wide rows", "CREATE TABLE t (id INT PRIMARY KEY" + wide + ") ENGINE=InnoDB ROW_FORMAT=COMPACT;\n", "innodb_strict_mode=OFF", "innodb_strict_mode=OFF"},
		{"foreign key", "CREATE TABLE p (a INT, b INT, PRIMARY KEY (a, b));\nCREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES p (a));\n", "", "restrict_fk_on_non_standard_key"},
		{"defaults of TEXT", "CREATE TABLE t (a TEXT DEFAULT 'x, DEFAULT y', b VARCHAR(9) DEFAULT 'z', c JSON DEFAULT '{}', d LONGTEXT NOT NULL DEFAULT '' COMMENT 'DEFAULT ''''');\nINSERT INTO t VALUES ();\n", "", "as expressions"},
		{"encryption", "CREATE TABLE t (a INT) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */;\n", "", "ENCRYPTION"},
		{"ROW_FORMAT=FIXED", "CREATE TABLE t (a INT) ENGINE=InnoDB ROW_FORMAT=FIXED;\n", "ROW_FORMAT=FIXED", "innodb_strict_mode=OFF"},
		{"an engine that is gone", "CREATE TABLE t (a INT) ENGINE=TokuDB DEFAULT CHARSET=utf8mb4 `COMPRESSION`=TOKUDB_ZLIB;\n", "storage engines", "storage engines"},
		{"partitions of MyISAM", "CREATE TABLE t (a INT) ENGINE=MyISAM PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9) ENGINE = MyISAM);\n", "", "InnoDB in its place"},
	}
	for _, tt := range cases {
		want := tt.mariadb
		if s.Flavour == "mysql" {
			want = tt.mysql
		}
		if _, err := s.fitted(t, fit.Options{}, tt.text); (err == nil) != (want == "") {
			t.Errorf("%s: without the option: %v", tt.name, err)
		}
		said, err := s.fitted(t, fit.Options{Fix: true}, tt.text)
		if err != nil || !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("%s: %v: %s", tt.name, err, said)
		}
		if is := s.asked(t, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' AND table_name = 't'"); len(is) != 1 {
			t.Errorf("%s: there is no table", tt.name)
		}
	}
	if _, err := s.fitted(t, fit.Options{Fix: true}, "SET sql_mode = 'STRICT_TRANS_TABLES';\nCREATE TABLE t (a DATE);\nINSERT INTO t VALUES ('2024-13-45');\n"); err == nil || !strings.Contains(err.Error(), "test.sql:3: ") {
		t.Errorf("a date that is none: %v", err)
	}
}

// rowsBehindWhichASettingFails keeps the rows that stand before a setting that is refused.
func rowsBehindWhichASettingFails(t *testing.T, s *stand) {
	for _, tail := range []string{"SET sql_mode = 'NO_SUCH_MODE';\n", "SET sql_mode = 'NO_SUCH_MODE';\nCREATE TABLE u (a INT);\n"} {
		_, err := s.fitted(t, fit.Options{}, "CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB;\nINSERT INTO t VALUES (1),(2);\n"+tail)
		if err == nil || !strings.Contains(err.Error(), "test.sql:3: ") {
			t.Error(err)
		}
		if is := s.asked(t, "SELECT COUNT(*) FROM d.t"); is[0] != "2" {
			t.Errorf("%s rows", is[0])
		}
	}
}

// TestTextTold has text that will not read as it was written.
func TestTextTold(t *testing.T) {
	for _, tt := range []struct{ names, value, told string }{
		{"utf8mb4", "Zoë and Ñuñez, ÃO, Âncora, çÃ", ""},
		{"utf8mb4", "ZoÃ«", "encoded as UTF-8 twice (t)"},
		{"utf8mb4", "itâ€™s", "encoded as UTF-8 twice (t)"},
		{"utf8mb3", "a \U0001f600", "four bytes"},
		{"utf8mb4", "a \U0001f600", ""},
		{"latin1", "Zoë", "says that its text is latin1, and it is UTF-8"},
		{"latin1", "Zo\xeb", ""},
		{"latin1", "Zoe", ""},
	} {
		l := &loader{fit: &fit.Fit{}, facts: facts{client: tt.names, connection: tt.names}}
		l.lookAtText(&table{name: dump.TableName{Name: "t"}}, []byte("(1,'"+tt.value+"')"))
		if got := strings.Join(l.fit.Notes("f"), "\n"); (got == "") != (tt.told == "") || !strings.Contains(got, tt.told) {
			t.Errorf("%s, %q: %q", tt.names, tt.value, got)
		}
	}
}
