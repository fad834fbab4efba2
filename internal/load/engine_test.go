package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TestEngineUnnamed: rows of a dump that names no engine go together all the same, one by one only
// where the server's is another.
func TestEngineUnnamed(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		for engine, few := range map[string]bool{"InnoDB": true, "MyISAM": false} {
			t.Run(engine, func(t *testing.T) {
				s.clear(t)
				var text strings.Builder
				text.WriteString("SET default_storage_engine = " + engine + ";\nCREATE TABLE a (id int PRIMARY KEY, name varchar(30), KEY (name));\n")
				for i := range 300 {
					fmt.Fprintf(&text, "INSERT INTO a VALUES (%d, 'name %d');\n", 300-i, i)
				}
				before := s.counter(t, "Com_insert")
				if err := s.load(t.Context(), strings.NewReader(text.String())); err != nil {
					t.Fatal(err)
				}
				if n := s.counter(t, "Com_insert") - before; few != (n < 10) {
					t.Errorf("%d INSERTs for 300 rows", n)
				}
				var rows []string
				err := dbconn.Query(t.Context(), s.db, "SELECT COUNT(*), MIN(id), MAX(id), SUM(name = CONCAT('name ', 300 - id)) FROM d.a", func(c []string) error {
					rows = c
					return nil
				})
				if got := strings.Join(rows, " "); err != nil || got != "300 1 300 300" {
					t.Errorf("rows: %s (%v)", got, err)
				}
			})
		}
	})
}
