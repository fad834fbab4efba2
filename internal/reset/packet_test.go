package reset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSmallPacket puts more counters back than fit into one max_allowed_packet: alone, and together with rows.
func TestSmallPacket(t *testing.T) {
	const tables = 80
	var schema, moves strings.Builder
	schema.WriteString("CREATE TABLE wide (id INT PRIMARY KEY, t MEDIUMTEXT); INSERT INTO wide VALUES (1, REPEAT('x', 44000));")
	moves.WriteString("BEGIN\n")
	for n := range tables {
		name := fmt.Sprintf("counted_%050d", n)
		fmt.Fprintf(&schema, "CREATE TABLE %s (id INT AUTO_INCREMENT PRIMARY KEY);", name)
		fmt.Fprintf(&moves, "INSERT INTO %s VALUES (NULL)\n", name)
	}
	moves.WriteString("ROLLBACK\nDELETE FROM wide")
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "shop", schema.String(), map[string]string{"max_allowed_packet": "65536"})
		le := l.lease("shop_1")
		le.do(moves.String()).Close()
		res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		if err != nil || res.Way != reset.Undo {
			t.Errorf("a reset of rows and counters: %v by %s (%s)", err, res.Way, res.Why)
		}
		if d := differences(le.asFresh, le.state()); d != "" {
			t.Errorf("after it:\n%s", d)
		}
		var many []string
		for range 100 {
			many = append(many, "DO '"+strings.Repeat("x", 1000)+"'")
		}
		if err := l.session.Restore(t.Context(), many); err != nil {
			t.Error(err)
		}
	})
}
