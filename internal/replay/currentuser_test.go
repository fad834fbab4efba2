package replay

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// giver makes an account that may give all.
func (w *twin) giver(t *testing.T) dbconn.Login {
	t.Helper()
	l := dbconn.Login{User: "giver", Password: dbconn.NewPassword()}
	exec(t, w.Running, "CREATE USER giver@localhost IDENTIFIED BY "+dbconn.Quote(l.Password), "GRANT ALL ON *.* TO giver@localhost WITH GRANT OPTION")
	return l
}

// TestReplayOfCurrentUser: a role that an account gives to itself, or takes from itself, is that account's, although the
// log of MariaDB does not say whose. Where several may have done it, the log is refused.
func TestReplayOfCurrentUser(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		mysql := servertest.Find(t, want).Flavour == server.MySQL
		w := newTwin(t, want, "counted.sql")
		giver := w.giver(t)
		statements := []string{
			"CREATE ROLE one, two", "GRANT one TO CURRENT_USER", "grant two to current_user() with admin option",
			"CREATE ROLE `th``ree`, four, five", "REVOKE ADMIN OPTION FOR `th``ree` FROM CURRENT_USER", "REVOKE four FROM CURRENT_USER()",
			"CREATE ROLE six WITH ADMIN one", "SET ROLE one", "GRANT six TO CURRENT_USER WITH ADMIN OPTION", "SET DEFAULT ROLE six",
		}
		if mysql {
			statements = []string{"CREATE ROLE one, two", "GRANT one TO CURRENT_USER", "GRANT two TO CURRENT_USER() WITH ADMIN OPTION", "REVOKE one FROM CURRENT_USER", "SET DEFAULT ROLE two TO giver@localhost"}
		}
		db, err := dbconn.Open(w.Endpoint.Socket, giver, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		do := func(list ...string) {
			for _, s := range list {
				if _, err := conn.ExecContext(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		do(statements...)
		before, logs := roles(t, w.Running, mysql), slices.Clone(w.logs(t))
		if len(before) < 2 {
			t.Fatalf("the roles are %q", before)
		}
		got, _ := w.replay(t, logs)
		if after := roles(t, got, mysql); !slices.Equal(before, after) {
			t.Errorf("the roles are %q, want %q", after, before)
		}
		if mysql {
			return
		}
		do("CREATE USER other@localhost", "GRANT five TO other@localhost WITH ADMIN OPTION", "GRANT five TO CURRENT_USER", "REVOKE five FROM CURRENT_USER")
		var apply *ApplyError
		if _, err := w.job(t, w.logs(t)).Run(t.Context()); !errors.As(err, &apply) || apply.Errno != 1962 || !strings.Contains(apply.Text, "REVOKE five") {
			t.Errorf("where several may have taken a role from themselves: %v", err)
		}
	})
}

// TestReplayOfNobody: a role that an account gives to itself in a session without NO_AUTO_CREATE_USER, for which an applier makes
// an account without a name, is that account's as well, and the other one is not left.
func TestReplayOfNobody(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		if servertest.Find(t, want).Flavour == server.MySQL {
			return // which logs the name
		}
		w := newTwin(t, want, "counted.sql")
		giver := w.giver(t)
		db, err := dbconn.Open(w.Endpoint.Socket, giver, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if err := dbconn.ExecAll(t.Context(), db, "SET sql_mode = ''", "CREATE ROLE one", "GRANT one TO CURRENT_USER", "CREATE ROLE two WITH ADMIN one", "SET ROLE one", "GRANT two TO CURRENT_USER WITH ADMIN OPTION"); err != nil {
			t.Fatal(err)
		}
		const nobody = "SELECT Host, User FROM mysql.global_priv WHERE User = ''"
		before := append(roles(t, w.Running, false), asked(t, w.Running, nobody)...)
		got, _ := w.replay(t, slices.Clone(w.logs(t)))
		if after := append(roles(t, got, false), asked(t, got, nobody)...); !slices.Equal(before, after) {
			t.Errorf("the roles are %q, want %q", after, before)
		}
	})
}

// TestReplayOfRevoked: what an account gives to itself and takes from itself again, in a session without NO_AUTO_CREATE_USER, it
// has no more; and CURRENT_USER of any other REVOKE is who said it, also where an account without a name is there.
func TestReplayOfRevoked(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		mysql := servertest.Find(t, want).Flavour == server.MySQL
		w := newTwin(t, want, "counted.sql")
		giver := w.giver(t)
		exec(t, w.Running, "CREATE USER ''@'%'", "GRANT SELECT ON shop.* TO ''@'%'")
		db, err := dbconn.Open(w.Endpoint.Socket, giver, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		statements := []string{
			"SET sql_mode = ''", "CREATE ROLE one, two, three", "GRANT one TO CURRENT_USER", "REVOKE one FROM CURRENT_USER",
			"GRANT two TO CURRENT_USER", "REVOKE ADMIN OPTION FOR two FROM CURRENT_USER()", "GRANT three TO CURRENT_USER",
			"GRANT SELECT, INSERT, UPDATE ON shop.* TO CURRENT_USER", "REVOKE INSERT ON shop.* FROM CURRENT_USER", "GRANT SELECT, DELETE ON shop.counted TO CURRENT_USER()", "REVOKE DELETE ON shop.counted FROM CURRENT_USER()",
		}
		if mysql { // where only SYSTEM_USER may take its own
			statements = slices.DeleteFunc(statements, func(s string) bool { return strings.Contains(s, "ADMIN OPTION FOR") })
		}
		if err := dbconn.ExecAll(t.Context(), db, statements...); err != nil {
			t.Fatal(err)
		}
		state := func(r *servertest.Running) []string {
			return append(roles(t, r, mysql), asked(t, r, "SELECT Host, User FROM mysql.user WHERE User = ''", "SELECT Host, Db, User, Select_priv, Insert_priv, Update_priv FROM mysql.db WHERE Db = 'shop' ORDER BY 1, 2, 3",
				"SELECT Host, Db, User, Table_name, Table_priv FROM mysql.tables_priv WHERE Db = 'shop' ORDER BY 1, 2, 3")...)
		}
		before := state(w.Running)
		got, _ := w.replay(t, slices.Clone(w.logs(t)))
		if after := state(got); !slices.Equal(before, after) {
			t.Errorf("the roles and rights are %q, want %q", after, before)
		}
	})
}

// roles are what accounts have of roles.
func roles(t *testing.T, r *servertest.Running, mysql bool) []string {
	t.Helper()
	if mysql {
		return asked(t, r, "SELECT TO_HOST, TO_USER, FROM_USER, WITH_ADMIN_OPTION FROM mysql.role_edges ORDER BY 1, 2, 3", "SELECT USER, DEFAULT_ROLE_USER FROM mysql.default_roles")
	}
	return asked(t, r, "SELECT Host, User, Role, Admin_option FROM mysql.roles_mapping ORDER BY 1, 2, 3", "SELECT default_role FROM mysql.user WHERE User = 'giver'")
}

// asked are the rows that queries answer.
func asked(t *testing.T, r *servertest.Running, queries ...string) (list []string) {
	t.Helper()
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range queries {
		if err := dbconn.Query(t.Context(), db, q, func(row []string) error { list = append(list, strings.Join(row, " ")); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
