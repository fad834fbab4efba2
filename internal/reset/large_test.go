package reset_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestLargeTransaction does more in one transaction than the journal keeps: the table is filled, and what the journal had in
// memory is bounded.
func TestLargeTransaction(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "shop", "CREATE TABLE a (id INT PRIMARY KEY, b LONGTEXT); CREATE TABLE c (id INT PRIMARY KEY, b INT); INSERT INTO a VALUES (1, 'x'); INSERT INTO c VALUES (1, 1);")
		le := l.lease("shop_1")
		text := "XA START 'l'\nUPDATE DB.c SET b = 2\n" + strings.Repeat("INSERT INTO DB.a SELECT MAX(id) + 1, REPEAT('y', 7000000) FROM DB.a\n", 12) + "UPDATE DB.c SET b = 3\nXA END 'l'\nXA PREPARE 'l'"
		conn := le.do(text)
		l.Journal.Read()
		if n := l.Journal.Staged(); n == 0 || n > reset.MaxTable {
			t.Errorf("%d bytes are kept", n)
		}
		if _, err := conn.ExecContext(t.Context(), "XA COMMIT 'l'"); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		res := le.reset()
		if res.Way != reset.Refill {
			t.Errorf("it was put back by %s", res.Way)
		}
	})
}
