package load

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestMissingDefiner loads what is used by the dump itself and has a definer who is no account: whatever the server answers to
// the account that loads, the fault speaks of the definer, and what the hint says helps.
func TestMissingDefiner(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		app := dbconn.Login{User: "loader", Password: dbconn.NewPassword()}
		s.exec(t, "CREATE USER loader@localhost IDENTIFIED BY "+dbconn.Quote(app.Password)+"; GRANT ALL ON *.* TO loader@localhost; REVOKE "+strings.Join(s.Dialect().Withheld, ", ")+" ON *.* FROM loader@localhost")
		for _, login := range []dbconn.Login{s.Endpoint.Login, app} {
			for _, uses := range []string{
				"CREATE DEFINER=`gone`@`%` VIEW v AS SELECT a FROM t;\nINSERT INTO v VALUES (1);\n",
				"CREATE DEFINER=`gone`@`%` TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 2;\nINSERT INTO t VALUES (1);\n",
			} {
				load := func() error {
					s.clear(t)
					to := Target{Server: s.Server, Endpoint: s.Endpoint}
					to.Endpoint.Database, to.Endpoint.Login = database, login
					_, err := to.Load(t.Context(), "test.sql", strings.NewReader("CREATE TABLE t (a int);\n"+uses))
					return err
				}
				const hint = "CREATE USER 'gone'@'%' ACCOUNT LOCK"
				text := hint
				if s.Flavour == server.MySQL && login == app && strings.Contains(uses, "VIEW") {
					text = "1045 (28000) Access denied for user 'loader'@'localhost'" // which it does not say of whom it is
				}
				if err := load(); err == nil || !strings.Contains(err.Error(), "test.sql:3: ") || !strings.Contains(err.Error(), "hint: the definer ") || !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %s: %v", login.User, uses, err)
				}
				s.exec(t, hint+"; GRANT ALL ON "+database+".* TO 'gone'@'%'")
				if err := load(); err != nil {
					t.Errorf("%s: %s: with the account: %v", login.User, uses, err)
				}
				s.exec(t, "DROP USER 'gone'@'%'")
			}
		}
	})
}
