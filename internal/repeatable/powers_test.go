package repeatable

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// TestPowers: what names an account, a right or a table by which a session may switch the log off is found, and what
// applications say besides is not.
func TestPowers(t *testing.T) {
	p := Powers{
		Accounts: []Account{{"ramaria_admin", "localhost"}, {"root", "localhost"}, {"captain", ""}, {"mate", "%"}},
		Rights:   []string{"SUPER", "BINLOG ADMIN", "BINLOG_ADMIN", "SET USER"},
	}
	for _, c := range []struct{ sql, schema, want string }{
		{"ALTER USER root@localhost IDENTIFIED BY 'x'", "shop", "account root"},
		{"alter /* x */ user if exists `root`@localhost account unlock", "shop", "account root"},
		{"/*!50100 ALTER USER 'root'@'localhost' */ IDENTIFIED BY 'x'", "shop", "account root"},
		{`ALTER USER 'r\oot'@localhost IDENTIFIED BY 'x'`, "shop", "account root"},
		{"CREATE OR REPLACE USER ROOT@LOCALHOST", "shop", "account ROOT"},
		{"ALTER USER a@'%' COMMENT 'x', 'root'@localhost", "shop", "account root"},
		{"SET PASSWORD FOR 'ramaria_admin'@'localhost' = 'x'", "shop", "account ramaria_admin"},
		{"RENAME USER a TO b, root@localhost TO c", "shop", "account root"},
		{"GRANT captain TO app", "shop", "account captain"},
		{"GRANT `mate` TO app", "shop", "account mate"},
		{"GRANT mate@'%' TO app", "shop", "account mate"},
		{"GRANT root@localhost TO app", "shop", "account root"},
		{"SET DEFAULT ROLE captain FOR app", "shop", "account captain"},
		{"DROP ROLE captain", "shop", "account captain"},
		{"GRANT SELECT ON shop.`to` TO captain", "shop", "account captain"},
		{"GRANT SELECT ON shop.to TO captain", "shop", "account captain"},
		{"SET STATEMENT max_statement_time=1, lock_wait_timeout=2 FOR DROP USER root@localhost", "shop", "account root"},
		{"SET STATEMENT max_statement_time=(SUBSTRING('12' FROM 1 FOR 1)) FOR DROP USER root@localhost", "shop", "account root"},
		{"SET STATEMENT max_statement_time=@for FOR SET STATEMENT lock_wait_timeout=1 FOR DROP USER root@localhost", "shop", "account root"},
		{"SET STATEMENT max_statement_time=1", "shop", "not understood"},
		{"SET STATEMENT max_statement_time=\x01 FOR DROP USER root@localhost", "shop", "not understood"},
		{"CREATE /* OR REPLACE USER root@localhost", "shop", "not understood"},
		{"CREATE DEFINER=`root`@`localhost` PROCEDURE p() SET sql_log_bin=0", "shop", "root@localhost defines"},
		{"CREATE OR REPLACE DEFINER = captain EVENT e ON SCHEDULE EVERY 1 DAY DO EXECUTE IMMEDIATE @a", "shop", "captain defines"},
		{"GRANT SELECT, Binlog  Admin ON *.* TO a", "shop", "privilege BINLOG ADMIN"},
		{"GRANT BINLOG_ADMIN ON *.* TO a", "shop", "privilege BINLOG_ADMIN"},
		{"GRANT PROXY ON a TO b", "shop", "privilege PROXY"},
		{"GRANT ALL PRIVILEGES ON *.* TO a", "shop", "all privileges"},
		{"GRANT `BINLOG_ADMIN`, SELECT (a) ON *.* TO a", "shop", "privilege BINLOG_ADMIN"},
		{"GRANT SET USER ON *.* TO a", "shop", "privilege SET USER"},
		{"GRANT SELECT ON *.* TO 'a", "shop", "not understood"},
		{"GRANT SELECT (`a ON *.* TO a", "shop", "not understood"},
		{"RENAME TABLE x TO mysql.`global_priv", "shop", "not understood"},
		{"RENAME TABLE x TO mysql.global_priv", "shop", "mysql.global_priv"},
		{"ALTER TABLE user ENGINE=Aria", "mysql", "mysql.user"},
		{"CREATE OR REPLACE TABLE `mysql`.`db` LIKE x", "shop", "mysql.db"},
		{"DROP TABLE IF EXISTS a, mysql.proc", "shop", "mysql.proc"},
		{"TRUNCATE mysql.roles_mapping", "shop", "mysql.roles_mapping"},

		{"CREATE USER captain@'%' IDENTIFIED BY 'root'", "shop", ""},
		{"CREATE USER a IDENTIFIED BY 'captain'", "shop", ""},
		{"CREATE USER a IDENTIFIED WITH 'caching_sha2_password' AS 'mate' COMMENT 'captain'", "shop", ""},
		{"CREATE USER a IDENTIFIED VIA ed25519 USING PASSWORD('captain')", "shop", ""},
		{"ALTER USER root@'%' ACCOUNT LOCK", "shop", ""},
		{"ALTER USER a COMMENT 'mysql.user', b COMMENT 'captain'", "shop", ""},
		{"GRANT SELECT (proxy, super) ON app.proxy TO a", "shop", ""},
		{"GRANT SELECT ON app.captain TO a", "shop", ""},
		{"GRANT EXECUTE ON PROCEDURE app.super TO a", "shop", ""},
		{"CREATE DEFINER=`root`@`localhost` PROCEDURE p() SELECT 1", "shop", ""},
		{"CREATE DEFINER=`a`@`localhost` PROCEDURE p() SET sql_log_bin=0", "shop", ""},
		{"CREATE PROCEDURE p() SELECT '\x01", "shop", ""},
		{"SET STATEMENT max_statement_time=1 FOR CREATE TABLE t (a INT)", "shop", ""},
		{"CREATE TABLE t (a INT) COMMENT 'x \x01", "shop", ""},
		{"CREATE USER a@'%' IDENTIFIED BY 'x'", "shop", ""},
		{"GRANT ALL PRIVILEGES ON shop.* TO a", "shop", ""},
		{"GRANT SELECT ON *.* TO a", "shop", ""},
		{"REVOKE SELECT ON shop.* FROM a", "shop", ""},
		{"ALTER TABLE user ADD super INT, ADD root INT", "shop", ""},
		{"CREATE TABLE t (root INT, user INT) COMMENT 'mysql.user'", "shop", ""},
		{"CREATE PROCEDURE p() SELECT * FROM mysql.user", "shop", ""},
		{"CREATE VIEW v AS SELECT CURRENT_USER(), root FROM t", "shop", ""},
		{"ALTER TABLE mysql.time_zone ENGINE=InnoDB", "shop", ""},
		{"INSERT INTO t VALUES ('GRANT SUPER')", "mysql", ""},
		{"COMMIT", "mysql", ""},
	} {
		if got := p.ByQuery(&binlog.Query{SQL: []byte(c.sql), Schema: c.schema, CharsetClient: 45}, false); got == "" != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
	if got := ByTable("mysql", "Global_priv"); got == "" {
		t.Error("rows of mysql.global_priv pass")
	}
	if got := ByTable("shop", "user") + ByTable("mysql", "gtid_slave_pos"); got != "" {
		t.Errorf("rows of others: %s", got)
	}
}
