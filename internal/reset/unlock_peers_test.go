package reset_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestPeersAreNotEnded makes and drops clones in several sessions at once: each waits now and then
// for rows of the server's dictionary that another has locked, and ends none of them for that.
func TestPeersAreNotEnded(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		var schema strings.Builder
		for n := range 20 {
			fmt.Fprintf(&schema, "CREATE TABLE t%d (id int AUTO_INCREMENT PRIMARY KEY, a int, KEY (a)) ENGINE=InnoDB;\nINSERT INTO t%d (a) VALUES (1), (2);\n", n, n)
		}
		l := newLab(t, want, "peers", schema.String())
		var group sync.WaitGroup
		for n := range 4 {
			session := l.newSession()
			group.Go(func() {
				for i := range 8 {
					d := &reset.Database{Name: fmt.Sprintf("peers_%d_%d", n, i), Shape: l.shape}
					if _, err := l.Clone(t.Context(), session, l.shape, d.Name); err != nil {
						t.Errorf("make %s: %v", d.Name, err)
						return
					}
					if _, err := l.Unlocked(t.Context(), session, d, func() error {
						_, err := session.Conn.ExecContext(t.Context(), "DROP DATABASE "+d.Name)
						return err
					}); err != nil {
						t.Errorf("drop %s: %v", d.Name, err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}
