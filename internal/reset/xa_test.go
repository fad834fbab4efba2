package reset_test

import (
	"strings"
	"testing"

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
