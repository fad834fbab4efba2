package repeatable

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// TestPowers: what names an account, a right or a table by which a session may switch the log off is found, and what
// applications say besides is not.
func TestPowers(t *testing.T) {
	p := Powers{Accounts: []string{"ramaria_admin", "root"}, Rights: []string{"SUPER", "BINLOG ADMIN", "BINLOG_ADMIN"}}
	for _, c := range []struct{ sql, schema, want string }{
		{"ALTER USER root@localhost IDENTIFIED BY 'x'", "shop", "account root"},
		{"alter /* x */ user if exists `root`@localhost account unlock", "shop", "account root"},
		{"/*!50100 ALTER USER 'root'@'localhost' */ IDENTIFIED BY 'x'", "shop", "account root"},
		{`ALTER USER 'r\oot'@localhost IDENTIFIED BY 'x'`, "shop", "account root"},
		{"CREATE OR REPLACE USER ROOT@'%'", "shop", "account ROOT"},
		{"SET PASSWORD FOR 'ramaria_admin'@'localhost' = 'x'", "shop", "account ramaria_admin"},
		{"RENAME USER a TO b, root@localhost TO c", "shop", "account root"},
		{"GRANT root TO app", "shop", "account root"},
		{"SET DEFAULT ROLE root FOR app", "shop", "account root"},
		{"DROP ROLE root", "shop", "account root"},
		{"SET STATEMENT max_statement_time=1, lock_wait_timeout=2 FOR DROP USER root@localhost", "shop", "account root"},
		{"GRANT SELECT, Binlog  Admin ON *.* TO a", "shop", "privilege BINLOG ADMIN"},
		{"GRANT BINLOG_ADMIN ON *.* TO a", "shop", "privilege BINLOG_ADMIN"},
		{"GRANT PROXY ON a TO b", "shop", "privilege PROXY"},
		{"GRANT ALL PRIVILEGES ON *.* TO a", "shop", "all privileges"},
		{"GRANT SELECT ON *.* TO 'a", "shop", "not understood"},
		{"RENAME TABLE x TO mysql.global_priv", "shop", "mysql.global_priv"},
		{"ALTER TABLE user ENGINE=Aria", "mysql", "mysql.user"},
		{"CREATE OR REPLACE TABLE `mysql`.`db` LIKE x", "shop", "mysql.db"},
		{"DROP TABLE IF EXISTS a, mysql.proc", "shop", "mysql.proc"},
		{"TRUNCATE mysql.roles_mapping", "shop", "mysql.roles_mapping"},

		{"CREATE USER a@'%' IDENTIFIED BY 'root'", "shop", "account root"}, // a password may be a name
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
