package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
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
// says within a second that it may have done so, by what the log has of it; what no log has it finds by the looks that it takes.
func TestDurableBlinded(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	var took []time.Duration
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
		began := time.Now()
		said, blind := d.saysOfLog(t)
		for !strings.Contains(said, w.noticed) && time.Since(began) < soon {
			time.Sleep(untilPause)
			said, blind = d.saysOfLog(t)
		}
		if w.noticed != "" {
			took = append(took, time.Since(began))
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
	slices.Sort(took)
	t.Logf("of %d ways it has said so after %s (median), %s at most, with the time that status takes", len(took), took[len(took)/2], took[len(took)-1])
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

// blindFor waits until the instance says that its log may lack commits, for a reason.
func (d *durable) blindFor(t *testing.T, why string) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		said, blind := d.saysOfLog(t)
		if blind && strings.Contains(said, why) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not say that %q may blind it: %s", why, said)
		}
	}
}

// looks is how long a durable instance takes to look at its accounts, some times.
const looks = 4 * time.Second

// seesAfterRestart restarts the instance, and wants it not to be blinded.
func (d *durable) seesAfterRestart(t *testing.T) {
	t.Helper()
	d.ramaria("down", durableName)
	d.open(t, d.ramaria("up", durableName))
	for end := time.Now().Add(looks); time.Now().Before(end); time.Sleep(untilPause) {
		if said, blind := d.saysOfLog(t); blind {
			t.Fatalf("it is blinded when it was started anew: %s", said)
		}
	}
}

// TestDurableBlindRole: who may switch the log off by a role, or by a role of that role, or because everybody may, is known as
// such. No restart takes a role from the application's account, so that it blinds the log from the start.
func TestDurableBlindRole(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	admin := func(statements ...string) {
		t.Helper()
		send(d.root, statements...).comes(t, strings.Join(statements, "; "))
	}
	right, everybody, name := "BINLOG ADMIN", "GRANT pilot TO PUBLIC", "PUBLIC (role pilot"
	if d.srv.Flavour == server.MySQL {
		right, everybody, name = "BINLOG_ADMIN", "SET GLOBAL mandatory_roles = 'pilot'", "mandatory_roles (role pilot"
	}
	admin("CREATE ROLE captain", "CREATE ROLE mate", "GRANT captain TO mate", "GRANT mate TO app@localhost, app@'%'")
	d.seesAfterRestart(t)
	admin("GRANT " + right + " ON *.* TO captain")
	d.blindFor(t, "names the privilege "+right)
	d.blindFor(t, "app@% (role mate")
	d.ramaria("backup", durableName)
	d.ramaria("down", durableName)
	d.open(t, d.ramaria("up", durableName))
	d.blindFor(t, "app@% (role mate")
	admin("REVOKE " + right + " ON *.* FROM captain") // only who may give a role may take it
	d.seesAfterRestart(t)

	// Everybody, by a role that the others do not have.
	admin("CREATE ROLE pilot", everybody, "GRANT "+right+" ON *.* TO pilot")
	d.blindFor(t, name)
	if d.srv.Flavour == server.MariaDB { // settings of MySQL do not outlive a restart
		d.ramaria("backup", durableName)
		d.ramaria("down", durableName)
		d.open(t, d.ramaria("up", durableName))
		d.blindFor(t, name)
	}
	admin("REVOKE " + right + " ON *.* FROM pilot")
	d.seesAfterRestart(t)

	// Another account is told of once, and is outside of the promise then.
	admin("CREATE USER other@localhost IDENTIFIED BY '"+blindPassword+"'", "CREATE ROLE cook", "GRANT cook TO other@localhost", "GRANT "+right+" ON *.* TO cook")
	d.blindFor(t, "names the privilege "+right)
	d.seesAfterRestart(t)
	d.ramaria("backup", durableName)
	if status := d.ramaria("status", durableName); !strings.Contains(status, "account other@localhost (role cook") {
		t.Errorf("it does not say who may switch the log off:\n%s", status)
	}
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableBlindLost: what is hidden from the log a power cut takes, and the recovery says so; a move and a restart have a
// base backup made that has it.
func TestDurableBlindLost(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	hide := func(id string) {
		t.Helper()
		send(d.root, "SET SESSION sql_log_bin = 0", "INSERT INTO slot VALUES ("+id+", 1, 0, '')").comes(t, "a commit that the log does not have")
	}
	blind := func(name string) {
		t.Helper()
		send(d.root, "CREATE USER "+name+"@localhost IDENTIFIED BY '"+blindPassword+"'", "GRANT SUPER ON *.* TO "+name+"@localhost").comes(t, "another account")
		d.blindFor(t, "names the privilege SUPER")
	}
	mended := func() {
		t.Helper()
		for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
			m, err := archive.ReadManifest(archive.OSDisk{Dir: d.archive, ReadOnly: true})
			if err != nil || len(m.Breaches) == 0 {
				t.Fatalf("the archive knows of no breach: %v", err)
			}
			last := m.Breaches[len(m.Breaches)-1]
			if !last.Open && last.Base != 0 && strings.Contains(last.What, "a session may have switched the log off") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("no base backup was made after it: %+v", last)
			}
		}
	}
	blind("first")
	hide("51")
	d.ramaria("backup", durableName)
	if status := d.ramaria("status", durableName); !strings.Contains(status, "what the log behind it lacks since ") {
		t.Errorf("the base backup does not say that the log lacks commits:\n%s", status)
	}
	hide("52")
	d.lose(t)
	out, said, err := d.try("up", durableName)
	if err != nil || !strings.Contains(said, "commits may be missing: a session may have switched the log off") {
		t.Fatalf("%v: the recovery does not say what may be lost: %s", err, said)
	}
	d.open(t, strings.TrimSpace(out))
	d.reads(t, "SELECT writer FROM slot WHERE writer > 50", "51")
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		if status := d.ramaria("status", durableName); strings.Contains(status, "since the base backup before is lost") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("status does not say that something is lost:\n%s", status)
		}
	}

	blind("second")
	hide("53")
	d.ramaria("down", durableName)
	d.open(t, d.ramaria("up", durableName))
	mended()
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT writer FROM slot WHERE writer > 50 ORDER BY 1", "51,53")

	for n := 0; ; n++ {
		blind(fmt.Sprintf("early%d", n))
		hide(strconv.Itoa(60 + n))
		d.ramaria("down", durableName)
		d.open(t, d.ramaria("up", durableName))
		d.lose(t) // before the base backup, as a rule
		m, err := archive.ReadManifest(archive.OSDisk{Dir: d.archive, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		hidden := m.Breaches[len(m.Breaches)-1].Base == 0
		out, said, err := d.try("up", durableName)
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		d.open(t, strings.TrimSpace(out))
		if !hidden && n < 5 {
			continue
		}
		if !hidden || !strings.Contains(said, "commits may be missing: a session may have switched the log off") {
			t.Fatalf("hidden %t: the recovery does not say what is lost of the run before: %s", hidden, said)
		}
		break
	}

	blind("third")
	hide("54")
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		_, said, err := d.try("move", durableName, "--volume", "disk")
		if err == nil {
			break
		}
		if !strings.Contains(said, "a base backup of it is being made") || time.Now().After(end) {
			t.Fatalf("%v: %s", err, said)
		}
	}
	mended()
	d.ramaria("rm", durableName, "--with-archive")
}
