package durable

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

func TestEndsLate(t *testing.T) {
	for sql, want := range map[string]bool{
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
		if got := endsLate(&server.Server{Flavour: server.MariaDB}, []byte(sql)); got != want {
			t.Errorf("%s: %t", sql, got)
		}
		if endsLate(&server.Server{Flavour: server.MySQL}, []byte(sql)) {
			t.Errorf("%s: of MySQL, whose tables are all InnoDB's", sql)
		}
	}
}
