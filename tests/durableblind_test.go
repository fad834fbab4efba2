package tests

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// wayToBlind is a way in which the application's account may try to commit what the log does not have.
type wayToBlind struct {
	name string
	// say are its statements, one after the other, in one session; the last of them is the one that matters.
	say []string
	// noticed is part of what the instance says of it, "" where the server refuses it.
	noticed string
	// vain says that the server does it, and that it gives nothing.
	vain bool
	// known says that what it gives is known, and made good by a base backup.
	known bool
	// family is "" for all.
	family server.Flavour
}

const blindPassword = "Blind-1234567"

// waysToBlind are those that are known.
var waysToBlind = []wayToBlind{
	// What the account is not given.
	{name: "session", say: []string{"SET SESSION sql_log_bin = 0"}},
	{name: "format", say: []string{"SET SESSION binlog_format = 'STATEMENT'"}},
	{name: "global format", say: []string{"SET GLOBAL binlog_format = 'STATEMENT'"}},
	{name: "init_connect", say: []string{"SET GLOBAL init_connect = 'SET sql_log_bin = 0'"}, family: server.MySQL},
	{name: "init_connect, which runs as who connects", say: []string{"SET GLOBAL init_connect = 'SET sql_log_bin = 0'", "SET GLOBAL init_connect = ''"}, vain: true, family: server.MariaDB},
	{name: "purge", say: []string{"PURGE BINARY LOGS BEFORE NOW()"}},
	{name: "grant", say: []string{"GRANT SUPER ON *.* TO app@localhost"}},
	{name: "grant all", say: []string{"GRANT ALL PRIVILEGES ON *.* TO app@localhost"}},
	{name: "definer", say: []string{"CREATE DEFINER=root@localhost PROCEDURE blind() SET sql_log_bin = 0"}},
	{name: "our definer", say: []string{"CREATE DEFINER=ramaria_admin@localhost PROCEDURE blind() SET sql_log_bin = 0"}},
	{name: "event of another", say: []string{"CREATE DEFINER=root@localhost EVENT blind ON SCHEDULE EVERY 1 SECOND DO SET sql_log_bin = 0"}},
	{name: "view of another", say: []string{"CREATE DEFINER=root@localhost VIEW blind AS SELECT 1"}},
	{name: "trigger of another", say: []string{"CREATE DEFINER=root@localhost TRIGGER blind BEFORE INSERT ON slot FOR EACH ROW SET @a = 1"}},
	{name: "its own routine", say: []string{"CREATE PROCEDURE blind() SET sql_log_bin = 0", "CALL blind()"}},
	{name: "load a file", say: []string{"LOAD DATA INFILE '/etc/passwd' INTO TABLE mysql.func"}},
	{name: "write a file", say: []string{"SELECT 'x' INTO OUTFILE 'mysql/global_priv.frm'"}},
	{name: "library", say: []string{"CREATE FUNCTION blind RETURNS INT SONAME 'blind.so'"}},
	{name: "persist", say: []string{"SET PERSIST sql_log_off = 1, binlog_format = 'STATEMENT'"}, family: server.MySQL},
	{name: "encryption", say: []string{"SET GLOBAL binlog_encryption = ON"}, family: server.MySQL},
	{name: "another log", say: []string{"RESET BINARY LOGS AND GTIDS"}, family: server.MySQL},
	{name: "follow another server", say: []string{"CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x'"}, family: server.MySQL},
	{name: "follow another server of MariaDB", say: []string{"CHANGE MASTER TO MASTER_HOST = 'x'"}, family: server.MariaDB},
	{name: "acknowledgements", say: []string{"SET GLOBAL rpl_semi_sync_master_enabled = 0"}, family: server.MariaDB},
	{name: "acknowledgements of MySQL", say: []string{"SET GLOBAL rpl_semi_sync_source_enabled = 0"}, family: server.MySQL},

	// What it needs, and may abuse.
	{name: "a plugin", say: []string{"INSTALL PLUGIN mysql_no_login SONAME 'mysql_no_login.so'"}, noticed: "plugin mysql_no_login", known: true, family: server.MySQL},
	{name: "our password", say: []string{"ALTER USER ramaria_admin@localhost IDENTIFIED BY '" + blindPassword + "'"}, noticed: "names the account ramaria_admin"},
	{name: "our password, by another word", say: []string{"SET PASSWORD FOR 'ramaria\\_admin'@localhost = 'x'", "ALTER USER 'r\\amaria_admin'@localhost IDENTIFIED BY '" + blindPassword + "'"}, noticed: "names the account ramaria_admin"},
	{name: "our account", say: []string{"RENAME USER ramaria_admin@localhost TO blind@localhost"}, noticed: "names the account ramaria_admin"},
	{name: "without our account", say: []string{"DROP USER ramaria_admin@localhost"}, noticed: "names the account ramaria_admin"},
	{name: "root's password", say: []string{"ALTER USER root@localhost IDENTIFIED BY '" + blindPassword + "' ACCOUNT UNLOCK"}, noticed: "names the account root"},
	{name: "root, within a routine", say: []string{"CREATE PROCEDURE blind() ALTER USER root@localhost IDENTIFIED BY '" + blindPassword + "'", "CALL blind()"}, noticed: "names the account root"},
	{name: "a role", say: []string{"GRANT root@localhost TO app@localhost"}, noticed: "names the account root", family: server.MySQL},
	{name: "a proxy", say: []string{"CREATE USER blind@localhost IDENTIFIED BY '" + blindPassword + "'", "INSERT INTO mysql.proxies_priv (Host, User, Proxied_host, Proxied_user, With_grant, Grantor) VALUES ('localhost', 'app', 'localhost', 'root', 1, '')"}, noticed: "mysql.proxies_priv"},
	{name: "rights", say: []string{"UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, '$.access', 18446744073709551615) WHERE User = 'app'", "FLUSH PRIVILEGES"}, noticed: "mysql.global_priv", family: server.MariaDB},
	{name: "rights, and back", say: []string{"SET autocommit = 0", "UPDATE mysql.user SET Super_priv = 'Y' WHERE User = 'app'", "COMMIT", "FLUSH PRIVILEGES", "UPDATE mysql.user SET Super_priv = 'N' WHERE User = 'app'", "COMMIT"}, noticed: "mysql.user", family: server.MySQL},
	{name: "dynamic rights", say: []string{"INSERT INTO mysql.global_grants VALUES ('app', '%', 'BINLOG_ADMIN', 'N')", "FLUSH PRIVILEGES"}, noticed: "mysql.global_grants", family: server.MySQL},
	{name: "a role's table", say: []string{"INSERT INTO mysql.role_edges VALUES ('localhost', 'root', '%', 'app', 'N')"}, noticed: "mysql.role_edges", family: server.MySQL},
	{name: "a default role", say: []string{"INSERT INTO mysql.default_roles VALUES ('%', 'app', 'localhost', 'root')"}, noticed: "mysql.default_roles", family: server.MySQL},
	{name: "a role's table of MariaDB", say: []string{"INSERT INTO mysql.roles_mapping VALUES ('%', 'app', 'root', 'N')"}, noticed: "mysql.roles_mapping", family: server.MariaDB},
	{name: "rights of a database", say: []string{"DELETE FROM mysql.db WHERE User = 'nobody'", "INSERT INTO mysql.db (Host, Db, User) VALUES ('%', 'a', 'b')"}, noticed: "mysql.db"},
	{name: "rights on routines", say: []string{"INSERT INTO mysql.procs_priv (Host, Db, User, Routine_name, Routine_type, Grantor) VALUES ('%', 'a', 'b', 'c', 'PROCEDURE', '')"}, noticed: "mysql.procs_priv"},
	{name: "rights on tables", say: []string{"INSERT INTO mysql.tables_priv (Host, Db, User, Table_name, Grantor) VALUES ('%', 'a', 'b', 'c', '')"}, noticed: "mysql.tables_priv"},
	{name: "another's routine", say: []string{"CREATE PROCEDURE blind() SET sql_log_bin = 0", "UPDATE mysql.proc SET definer = 'root@localhost' WHERE name = 'blind'"}, noticed: "mysql.proc", family: server.MariaDB},
	{name: "another's event", say: []string{"CREATE EVENT blind ON SCHEDULE EVERY 1 DAY DO SET @a = 1", "UPDATE mysql.event SET definer = 'root@localhost' WHERE name = 'blind'"}, noticed: "mysql.event", family: server.MariaDB},
	{name: "another table", say: []string{"CREATE TABLE blind LIKE mysql.global_priv", "INSERT INTO blind SELECT * FROM mysql.global_priv", "ALTER TABLE mysql.global_priv RENAME mysql.was, ALGORITHM=COPY", "RENAME TABLE blind TO mysql.global_priv"}, noticed: "mysql.global_priv was made anew", family: server.MariaDB},
	{name: "a statement in another", say: []string{"SET STATEMENT lock_wait_timeout = 5 FOR ALTER USER root@localhost IDENTIFIED BY '" + blindPassword + "'"}, noticed: "names the account root", family: server.MariaDB},
}

// TestDurableBlinded: the application's account is refused each way to commit what the log does not have, or a durable instance
// says within a second that it may have done so.
func TestDurableBlinded(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	for _, w := range waysToBlind {
		if w.family != "" && w.family != d.srv.Flavour {
			continue
		}
		if said, _ := d.saysOfLog(t); w.noticed != "" && strings.Contains(said, w.noticed) { // of the way before
			d.ramaria("down", durableName)
			d.open(t, d.ramaria("up", durableName))
			if said, blind := d.saysOfLog(t); blind {
				t.Fatalf("it is blinded when it was started anew: %s", said)
			}
		}
		var err error
		for _, text := range append([]string{"DROP PROCEDURE IF EXISTS blind", "DROP TABLE IF EXISTS blind", "DROP EVENT IF EXISTS blind", "DROP USER IF EXISTS blind@localhost"}, w.say...) {
			_, _, err = d.try("sql", durableName, "-e", text)
		}
		last := w.say[len(w.say)-1]
		if refused := w.noticed == "" && !w.vain; refused != (err != nil) {
			t.Errorf("%s: %s: %v", w.name, last, err)
		}
		end := time.Now().Add(soon)
		said, blind := d.saysOfLog(t)
		for !strings.Contains(said, w.noticed) && time.Now().Before(end) {
			time.Sleep(untilPause)
			said, blind = d.saysOfLog(t)
		}
		switch {
		case !strings.Contains(said, w.noticed):
			t.Errorf("%s: %s: nothing is said of it: %s", w.name, last, said)
		case w.noticed == "" && blind:
			t.Errorf("%s: %s: it is said to be blinded: %s", w.name, last, said)
		case w.noticed != "" && !w.known && !blind:
			t.Errorf("%s: %s: it goes on to promise: %s", w.name, last, said)
		}
	}
	if status := d.ramaria("status", durableName); strings.Contains(status, "no acknowledged commit is lost") {
		t.Errorf("it goes on to promise:\n%s", status)
	}
	d.ramaria("rm", durableName, "--with-archive")
}

// saysOfLog is what the instance says to be outside of the promise, and whether its log may lack commits from now on.
func (d *durable) saysOfLog(t *testing.T) (text string, blind bool) {
	t.Helper()
	var s struct {
		Warnings []string `json:"warnings"`
		Durable  struct {
			BlindSince *time.Time `json:"blind_since"`
		} `json:"durable"`
	}
	if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return strings.Join(s.Warnings, "\n"), s.Durable.BlindSince != nil
}
