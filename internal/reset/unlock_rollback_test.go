package reset_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestRollbackThatTakesLong ends, beside an idle connection of another account, transactions whose
// rollback takes several times as long as a lock is waited for that somebody holds for good. What
// waits for them names the template too, as most do that fill a database.
func TestRollbackThatTakesLong(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		l.exec("CREATE USER other@localhost IDENTIFIED BY 'x_aA1x_aA1'\nGRANT ALL ON *.* TO other@localhost\nSET lock_wait_timeout = 3600")
		defer closeNow(le.app("DO 0"))
		const many = "BEGIN\nUPDATE DB.big SET b = CONCAT(b, 'z')"
		for _, tc := range []struct {
			name, warning string
			lock          func()
		}{
			{"own", "connections of the database", func() { le.do(many) }},
			{"another's", "connections of other accounts", func() { le.app("USE DB\n" + many) }},
			{"another's that ended itself", "", func() { closeNow(le.app(many)) }},
		} {
			t.Run(tc.name, func(t *testing.T) {
				le.t, l.t = t, t
				le.pool.SetMaxIdleConns(0)
				closeNow(le.do("DROP TABLE IF EXISTS big\nCREATE TABLE big (id int PRIMARY KEY AUTO_INCREMENT, b varchar(100), KEY (b)) ENGINE=innodb\nINSERT INTO big (b) VALUES ('x')\n" +
					strings.Repeat("INSERT INTO big (b) SELECT CONCAT(id, 'y') FROM big\n", 15)))
				tc.lock()
				warnings, err := l.Unlocked(t.Context(), l.session, &reset.Database{Name: le.Name, User: le.User, Shape: l.shape}, func() error {
					_, err := l.session.Conn.ExecContext(t.Context(), "DROP TABLE IF EXISTS `farm_1`.big, `farm`.absent")
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if text := strings.Join(warnings, "\n"); !strings.Contains(text, tc.warning) {
					t.Errorf("warnings %q do not say %s", text, tc.warning)
				}
			})
		}
	})
}
