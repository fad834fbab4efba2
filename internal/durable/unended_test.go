package durable

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestEndsLate(t *testing.T) {
	for sql, want := range map[string]bool{
		"SET STATEMENT max_statement_time=1 FOR GRANT SELECT ON d.* TO u": true, "set statement sql_mode='', max_statement_time=(SELECT 1 FOR UPDATE) for revoke all from u": true,
		"SET STATEMENT lock_wait_timeout=1 FOR CREATE USER u": true, "SET STATEMENT sql_mode='' FOR CREATE DEFINER=`a`@`%` PROCEDURE p() SELECT 1": true,
		"SET STATEMENT sql_mode='' FOR CREATE TABLE user (a INT)": false, "SET @a = 'FOR GRANT'": false, "SET STATEMENT sql_mode='FOR GRANT r TO u' FOR DROP TABLE t": false,
		"# grants\nGRANT r TO u": true, "-- x\nDROP USER u": true, "/*!50100 GRANT r TO */ u": true, "DROP /*!50000 PROCEDURE */ p": true,
		"CREATE USER u": true, "/* a */ create or replace user u": true, "GRANT SELECT ON d.* TO u": true, "revoke all from u": true, "SET PASSWORD FOR u = 'x'": true,
		"CREATE DEFINER=`a b`@`%` PROCEDURE p() SELECT 1": true, "CREATE DEFINER=`a`@`%` FUNCTION f() RETURNS INT RETURN 1": true, "DROP FUNCTION f": true, "DROP ROLE r": true,
		"RENAME USER a TO b": true, "SET DEFAULT ROLE r FOR u": true, "CREATE PACKAGE p AS END": true, "CREATE AGGREGATE FUNCTION f() RETURNS INT RETURN 1": true,
		"CREATE TABLE user (a INT)": false, "RENAME TABLE a TO b": false, "ALTER TABLE t ADD user INT": false, "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DROP USER u": false,
		"CREATE DEFINER=`a`@`%` TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a = 1": false, "CREATE VIEW grants AS SELECT 1": false, "TRUNCATE t": false,
		"CREATE DEFINER=`a`@`%` TRIGGER t BEFORE INSERT ON user FOR EACH ROW SET @a = 1":                 false,
		"CREATE DEFINER=`a`@`%` EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM package WHERE role = 1":   false,
		"CREATE OR REPLACE DEFINER=`user `@`h` TRIGGER function AFTER DELETE ON t FOR EACH ROW SET @a=1": false,
		"CREATE DEFINER = 'a ``b'@'%' FUNCTION f() RETURNS INT RETURN 1":                                 true,
		"create or replace definer=`a`` b` @ `%` aggregate function f() returns int return 1":            true,
		"CREATE DEFINER=\"a\"@\"h\" PROCEDURE p() SELECT 1":                                              true,
		"CREATE DEFINER=CURRENT_USER() PROCEDURE p() SELECT 1":                                           true,
		"CREATE DEFINER=r FUNCTION f() RETURNS INT RETURN 1":                                             true,
	} {
		if got := endsLate(&server.Server{Flavour: server.MariaDB}, &binlog.Query{SQL: []byte(sql)}); got != want {
			t.Errorf("%s: %t", sql, got)
		}
		if endsLate(&server.Server{Flavour: server.MySQL}, &binlog.Query{SQL: []byte(sql)}) {
			t.Errorf("%s: of MySQL, whose tables are all InnoDB's", sql)
		}
	}
}

// TestAsSaid: what is done once more means the account that said it, and not ours.
func TestAsSaid(t *testing.T) {
	for sql, want := range map[string]string{
		"DROP USER CURRENT_USER":                                                     "DROP USER `a``@b`@`h`",
		"alter user current_user ( ) identified by 'current_user'":                   "alter user `a``@b`@`h` identified by 'current_user'",
		`ALTER USER CURRENT_USER IDENTIFIED BY 'it\'s CURRENT_USER'`:                 "ALTER USER `a``@b`@`h` IDENTIFIED BY 'it\\'s CURRENT_USER'",
		"/* it's */ GRANT SELECT ON `CURRENT_USER`.t TO CURRENT_USER, current_users": "/* it's */ GRANT SELECT ON `CURRENT_USER`.t TO `a``@b`@`h`, current_users",
		"GRANT SELECT ON t TO /*!50000 CURRENT_USER */ /**/":                         "GRANT SELECT ON t TO /*!50000 `a``@b`@`h` */ /**/",
		"SET STATEMENT sql_mode='CURRENT_USER' FOR GRANT r TO CURRENT_USER":          "GRANT r TO `a``@b`@`h`",
		"/*!50100 SET STATEMENT max_statement_time=1 FOR DROP USER CURRENT_USER */":  "/*! DROP USER `a``@b`@`h` */",
		"SET STATEMENT sql_mode='' FOR CREATE PROCEDURE p() SELECT CURRENT_USER":     "CREATE PROCEDURE p() SELECT CURRENT_USER",
		"CREATE DEFINER=`a`@`h` PROCEDURE p() SELECT CURRENT_USER":                   "CREATE DEFINER=`a`@`h` PROCEDURE p() SELECT CURRENT_USER",
	} {
		got, known := asSaid(&binlog.Query{SQL: []byte(sql), Invoker: "a`@b@h"})
		if got != want || !known {
			t.Errorf("%s: %s (%t)", sql, got, known)
		}
	}
	verbatim := binlog.Query{SQL: []byte(`ALTER USER CURRENT_USER IDENTIFIED BY '\' COMMENT 'CURRENT_USER'`), Invoker: "a@h", SQLMode: noBackslashEscapes}
	if got, known := asSaid(&verbatim); got != "ALTER USER `a`@`h` IDENTIFIED BY '\\' COMMENT 'CURRENT_USER'" || !known {
		t.Errorf("%s (%t)", got, known)
	}
	if _, known := asSaid(&binlog.Query{SQL: []byte("GRANT r TO CURRENT_USER")}); known {
		t.Error("nobody knows who that was")
	}
}

// TestPerhapsUnended: of what is at the end of the log that is done once more which has not been undone since.
func TestPerhapsUnended(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		found := servertest.Find(t, want)
		if found.Flavour != server.MariaDB {
			return
		}
		srv := servertest.Start(t, found)
		srv.RestartAs(t, server.Run, false, nil)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		s := &Snapshot{DataDir: srv.DataDir(), Instance: &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}, Made: instance.Made{Server: srv.Server}}}
		const made = "CREATE DEFINER=`root`@`localhost` PROCEDURE `p`()\nSELECT 1"
		for _, step := range []struct {
			do, want []string
		}{
			{[]string{"CREATE DATABASE d", "USE d", "CREATE USER u", "CREATE DEFINER=root@localhost PROCEDURE p() SELECT 1", "GRANT EXECUTE ON PROCEDURE p TO u"}, []string{"GRANT EXECUTE ON PROCEDURE p TO u", made}},
			{[]string{"DROP PROCEDURE p"}, []string{"GRANT EXECUTE ON PROCEDURE p TO u", "DROP PROCEDURE p"}},
			{[]string{"CREATE DEFINER=root@localhost PROCEDURE p() SELECT 1"}, []string{made}},
			{[]string{"GRANT SELECT ON d.* TO u", "DROP PROCEDURE p", "CREATE DEFINER=root@localhost PROCEDURE p() SELECT 1"}, []string{"GRANT SELECT ON d.* TO u", made}},
			{[]string{"SET STATEMENT max_statement_time=9 FOR GRANT INSERT ON d.* TO u"}, []string{"SET STATEMENT max_statement_time=9 FOR GRANT INSERT ON d.* TO u", made}},
			{[]string{"SET STATEMENT max_statement_time=9 FOR DROP DATABASE d"}, []string{"SET STATEMENT max_statement_time=9 FOR GRANT INSERT ON d.* TO u"}},
		} {
			for _, text := range step.do {
				exec(t, db, text)
			}
			list, err := s.perhapsUnended(archive.Position{File: math.MaxUint32})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range list {
				got = append(got, string(q.SQL))
			}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("behind %q: %s", step.do, diff)
			}
		}
	})
}
