package reset_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestEmptyXA leaves prepared XA transactions that have done nothing in connections that stay:
// MariaDB has no list of transactions that shows them.
func TestEmptyXA(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le, other := l.lease("farm_1"), l.lease("farm_2")
		maria := l.srv.Flavour == server.MariaDB
		for _, do := range []string{
			"XA START 'a`DB`'\nXA END 'a`DB`'\nXA PREPARE 'a`DB`'",
			"XA START 'a','b',7\nSELECT 1\nXA END 'a','b',7\nXA PREPARE 'a','b',7",
			"XA START 'a'\nINSERT INTO old VALUES (77, 'x')\nXA END 'a'\nXA PREPARE 'a'",
		} {
			conn := le.do(do)
			res := le.reset()
			if alive(t.Context(), conn) == nil && maria {
				t.Errorf("%s: its connection lives", do)
			}
			if text := strings.Join(res.Warnings, "\n"); maria != strings.Contains(text, "prepared XA transaction") {
				t.Errorf("%s: the warnings are %q", do, text)
			}
			if n := l.prepared(); n != 0 {
				t.Errorf("%s: %d transactions are still prepared", do, n)
			}
			conn.Close()
		}

		// Another's stays, and costs the connections of this one once.
		theirs := other.do("XA START 'other'\nXA END 'other'\nXA PREPARE 'other'")
		defer theirs.Close()
		le.reset()
		mine := le.do("SELECT * FROM plain")
		defer mine.Close()
		if res := le.reset(); res.Way != reset.Noop || len(res.Warnings) > 0 {
			t.Errorf("a second reset beside it: %s %q", res.Way, res.Warnings)
		}
		if err := alive(t.Context(), mine); err != nil {
			t.Errorf("a connection died beside it: %v", err)
		}
		if n := l.prepared(); n != 1 && maria {
			t.Errorf("%d transactions are prepared, want that of the other lease", n)
		}
		other.reset()
		if n := l.prepared(); n != 0 {
			t.Errorf("%d transactions are still prepared", n)
		}
	})
}

// prepared counts all prepared XA transactions.
func (l *lab) prepared() (n int) {
	l.t.Helper()
	rows, err := l.session.Conn.QueryContext(l.t.Context(), "XA RECOVER")
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// TestPreparedBeforeDDL has DDL wait for a prepared XA transaction, of a connection that stays and of one that is gone. A
// server that waits in InnoDB does not let the DDL's connection go before the time for locks on rows is over, which is 10 s.
func TestPreparedBeforeDDL(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "shop", "CREATE TABLE a (id int AUTO_INCREMENT PRIMARY KEY, b int) ENGINE=InnoDB; INSERT INTO a VALUES (1, 1), (2, 2);")
		le := l.lease("shop_1")
		const most = 4 * time.Second
		for _, stays := range []bool{false, true} {
			for _, end := range []func() error{
				func() error {
					_, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
					return err
				},
				func() error { // as at the end of a lease
					err := l.RollBackPrepared(t.Context(), l.session, &le.Database)
					return errors.Join(err, l.session.End(t.Context(), le.User))
				},
			} {
				conn := le.do("XA START 'x'\nINSERT INTO a VALUES (5, 5)\nXA END 'x'\nXA PREPARE 'x'")
				if !stays {
					if err := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
						t.Fatal(err)
					}
				}
				var waits sync.WaitGroup
				waits.Go(func() { le.do("-ALTER TABLE a ADD c int").Close() })
				time.Sleep(300 * time.Millisecond) // it waits by then, or the reset is easier
				began := time.Now()
				if err := end(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > most {
					t.Errorf("beside a connection that stays (%v): %v", stays, took)
				}
				conn.Close()
				waits.Wait()
				if n := l.prepared(); n != 0 {
					t.Errorf("%d transactions are still prepared", n)
				}
				le.reset()
			}
		}
	})
}
