package replay

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// strict are settings of servers that refuse, or fail at, what a session does that has lenient ones, in more ways than their
// defaults do.
var strict = map[server.Flavour]map[string]string{
	server.MariaDB: {
		"innodb_strict_mode": "ON", "max_heap_table_size": "16384", "lock_wait_timeout": "1", "max_statement_time": "10", "secure_timestamp": "YES",
		"system_versioning_alter_history": "ERROR", "init_slave": "no statement",
	},
	server.MySQL: {
		"innodb_strict_mode": "ON", "max_heap_table_size": "16384", "lock_wait_timeout": "1", "sql_require_primary_key": "ON", "init_replica": "no statement",
	},
}

// lenient are sessions, a line each, that do what the settings of their server would refuse.
var lenient = `
SET innodb_strict_mode = OFF; CREATE TABLE block (a INT PRIMARY KEY) ENGINE=InnoDB KEY_BLOCK_SIZE=15;
SET innodb_strict_mode = OFF; CREATE TABLE dynamic (a INT PRIMARY KEY) ENGINE=InnoDB ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=8;
SET innodb_strict_mode = OFF; CREATE TABLE fixed (a INT PRIMARY KEY, b TEXT) ENGINE=InnoDB; ALTER TABLE fixed ROW_FORMAT=FIXED; INSERT INTO fixed VALUES (1, 'x');
SET innodb_strict_mode = OFF; CREATE TABLE wide (a INT PRIMARY KEY, @WIDE@) ENGINE=InnoDB ROW_FORMAT=COMPACT CHARSET=latin1; INSERT INTO wide (a, c1) VALUES (1, 'x');
SET max_heap_table_size = 64 << 20; CREATE TABLE heap (a INT PRIMARY KEY, b CHAR(250)) ENGINE=MEMORY; INSERT INTO heap VALUES (0, 'x'); @DOUBLE@
CREATE TABLE parent (a INT PRIMARY KEY) ENGINE=InnoDB; CREATE TABLE child (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO child VALUES (1); SET foreign_key_checks = 0; ALTER TABLE child ADD FOREIGN KEY (a) REFERENCES parent (a);
SET system_versioning_alter_history = KEEP; CREATE TABLE past (a INT PRIMARY KEY) ENGINE=InnoDB WITH SYSTEM VERSIONING; INSERT INTO past VALUES (1); UPDATE past SET a = 2; ALTER TABLE past ADD b INT; ALTER TABLE past DROP b; -- mariadb
SET sql_if_exists = 1; DROP TABLE never_there; -- mariadb
CREATE TABLE odd (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO odd VALUES (7); SET check_constraint_checks = OFF; ALTER TABLE odd ADD CHECK (a < 2); SET check_constraint_checks = ON; INSERT INTO odd VALUES (1); SET check_constraint_checks = OFF; CREATE TABLE odd_too (a INT, CHECK (a < 2)) SELECT 7 AS a; ALTER TABLE odd ADD b INT DEFAULT 0 CHECK (b > 0); -- mariadb
SET div_precision_increment = 1; CREATE TABLE parted (a INT PRIMARY KEY, b INT, CHECK (a / b <= 0.33)) ENGINE=InnoDB; INSERT INTO parted VALUES (1, 3); -- mariadb
CREATE TABLE timed (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO timed VALUES (1); DO SLEEP(1.1); ALTER TABLE timed ADD t DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6);
SET sql_require_primary_key = OFF; CREATE TABLE free (a INT); INSERT INTO free VALUES (1), (1); -- mysql
SET restrict_fk_on_non_standard_key = OFF; CREATE TABLE to_any (a INT PRIMARY KEY, b INT, KEY (b)); CREATE TABLE from_any (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES to_any (b)); -- mysql
SET sql_mode = ''; CREATE TABLE zero (a INT PRIMARY KEY, d DATE NOT NULL DEFAULT '0000-00-00') ENGINE=InnoDB; INSERT INTO zero (a) VALUES (1); ALTER TABLE zero ADD e DATE NOT NULL;
`

// TestReplayOfLenientSessions: what a session was allowed to do, and the server's settings do not allow, is done again:
// which settings a session had is in no log.
func TestReplayOfLenientSessions(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		flavour := servertest.Find(t, want).Flavour
		w := newTwinWith(t, want, "counted.sql", strict[flavour])
		columns := []string{}
		for _, n := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34") {
			columns = append(columns, "c"+n+" CHAR(255)")
		}
		text := strings.NewReplacer("@WIDE@", strings.Join(columns, ", "), "@DOUBLE@", strings.Repeat("SET @n = (SELECT COUNT(*) FROM heap); INSERT INTO heap SELECT a + @n, b FROM heap; ", 15)).Replace(lenient)
		for line := range strings.Lines(servertest.Flavoured(w.Server, text)) {
			w.Load(t, "USE shop; "+line)
		}
		before := state(t, w.Running)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		after := state(t, got)
		// A server that starts empties it.
		for _, s := range []map[string]string{before, after} {
			for _, what := range []string{"rows", "checksum"} {
				delete(s, what+" `shop`.`heap`")
			}
		}
		equal(t, before, after)
	})
}
