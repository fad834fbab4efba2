package reset_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestOwnLockIsWaitedFor has a session of ours wait for a lock of another of ours, while it does something with the rights
// of a definer, whose name the server lists then.
func TestOwnLockIsWaitedFor(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "peers", "CREATE TABLE t (a INT); CREATE USER owner@localhost; GRANT ALL PRIVILEGES ON *.* TO owner@localhost; CREATE DATABASE elsewhere; CREATE TABLE elsewhere.t (a INT);"+
			"CREATE DEFINER = owner@localhost PROCEDURE p() SELECT COUNT(*) INTO @n FROM elsewhere.t;")
		holder := l.newSession()
		lock := func(text string) {
			if _, err := holder.Conn.ExecContext(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
		lock("LOCK TABLES elsewhere.t WRITE")
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			time.Sleep(400 * time.Millisecond) // longer than for another's
			lock("UNLOCK TABLES")
		})
		warnings, err := l.Unlocked(t.Context(), l.session, &reset.Database{Name: "peers", Shape: l.shape}, func() error {
			_, err := l.session.Conn.ExecContext(t.Context(), "CALL peers.p()")
			return err
		})
		if err != nil || warnings != nil {
			t.Errorf("%v, warnings %q", err, warnings)
		}
	})
}
