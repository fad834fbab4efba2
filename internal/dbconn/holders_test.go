package dbconn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestHolders: who has a right, by itself or by a role of a role, is found, and whether somebody can log in as it.
func TestHolders(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Start(t, servertest.Find(t, want))
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		mysql := strings.HasPrefix(want, "mysql:")
		rights := srv.Server.Family().Blinding()
		holders := func() (list []string) {
			all, err := dbconn.HoldersOf(t.Context(), db, mysql, rights)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range all {
				text := h.String()
				if h.Shut {
					text += ", shut"
				}
				list = append(list, text)
			}
			return list
		}
		before := holders()
		for _, h := range before {
			if (strings.HasPrefix(h, "root@") || strings.HasPrefix(h, "mysql.")) && !strings.HasSuffix(h, ", shut") {
				t.Errorf("an account of a new data directory is open: %s", h)
			}
		}
		steps := []struct{ statement, want string }{
			{"CREATE USER a@localhost IDENTIFIED BY 'x', b@localhost IDENTIFIED BY 'x'", ""},
			{"CREATE ROLE captain, mate", ""},
			{"GRANT captain TO mate", ""},
			{"GRANT mate TO a@localhost", ""},
			{"GRANT SELECT ON *.* TO captain", ""},
		}
		by := "captain (a role), shut;mate (role captain), shut;"
		if mysql {
			by = "captain@% (%), shut;mate@% (role captain@%), shut;"
			steps = append(steps, []struct{ statement, want string }{
				{"GRANT SET_ANY_DEFINER ON *.* TO captain", "a@localhost (role mate@%);" + strings.Replace(by, "(%)", "(SET_ANY_DEFINER)", 1)},
				{"ALTER USER a@localhost ACCOUNT LOCK", "a@localhost (role mate@%), shut;" + strings.Replace(by, "(%)", "(SET_ANY_DEFINER)", 1)},
				{"REVOKE mate FROM a@localhost", strings.Replace(by, "(%)", "(SET_ANY_DEFINER)", 1)},
				{"SET GLOBAL mandatory_roles = '`mate`@`%`, other'", "captain@% (SET_ANY_DEFINER), shut;mandatory_roles (role mate@%);mate@% (role captain@%), shut"},
				{"SET GLOBAL mandatory_roles = ''", strings.Replace(by, "(%)", "(SET_ANY_DEFINER)", 1)},
				{"REVOKE SET_ANY_DEFINER ON *.* FROM captain", ""},
			}...)
		} else {
			for _, right := range rights {
				steps = append(steps, []struct{ statement, want string }{
					{"GRANT " + right + " ON *.* TO captain", "a@localhost (role mate);" + by},
					{"REVOKE " + right + " ON *.* FROM captain", ""},
				}...)
			}
			steps = append(steps, []struct{ statement, want string }{
				{"GRANT SUPER ON *.* TO captain", "a@localhost (role mate);" + by},
				{"GRANT mate TO PUBLIC", "PUBLIC (role mate);a@localhost (role mate);" + by},
				{"REVOKE mate FROM PUBLIC", "a@localhost (role mate);" + by},
				{"REVOKE SUPER ON *.* FROM captain", ""},
				{"GRANT BINLOG ADMIN ON *.* TO PUBLIC", "PUBLIC (a role)"},
				{"REVOKE BINLOG ADMIN ON *.* FROM PUBLIC", ""},
				{"CREATE USER c@localhost IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket", ""},
				{"GRANT SUPER ON *.* TO c@localhost", "c@localhost (SUPER)"},
				{"ALTER USER c@localhost IDENTIFIED VIA mysql_native_password USING 'invalid'", "c@localhost (SUPER), shut"},
				{"ALTER USER c@localhost IDENTIFIED BY 'x'", "c@localhost (SUPER)"},
				{"ALTER USER c@localhost ACCOUNT LOCK", "c@localhost (SUPER), shut"},
			}...)
		}
		for _, s := range steps {
			if _, err := db.ExecContext(t.Context(), s.statement); err != nil {
				t.Fatalf("%s: %v", s.statement, err)
			}
			got := slices.DeleteFunc(holders(), func(h string) bool { return slices.Contains(before, h) })
			if text := strings.Join(got, ";"); strings.TrimSuffix(s.want, ";") != text {
				t.Errorf("%s: %s, want %s", s.statement, text, s.want)
			}
		}
	})
}
