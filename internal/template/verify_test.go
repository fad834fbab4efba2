package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// damages are done to a clone of the zoo before it is compared; those that begin with ~ are
// repaired, the others make the clone be made again.
const damages = `
~ALTER TABLE keeper AUTO_INCREMENT = 9000
~ALTER TABLE empty_one AUTO_INCREMENT = 77
DROP TABLE visit
ALTER TABLE keeper ADD COLUMN extra int
ALTER TABLE animal DROP KEY born
ALTER TABLE animal DROP FOREIGN KEY kept_by
DROP VIEW heavy
CREATE OR REPLACE VIEW heavy AS SELECT 1 AS one
DROP FUNCTION twice
DROP TRIGGER born_second
ALTER EVENT nightly COMMENT 'changed'
DROP PROCEDURE old_bytes
ALTER DATABASE damaged CHARACTER SET latin1
ALTER DATABASE damaged COMMENT 'another' -- mariadb
DO NEXTVAL(tickets) -- mariadb
ALTER SEQUENCE tickets CACHE 5 -- mariadb
`

// TestDamaged damages clones between making and comparing: none is ever handed out.
func TestDamaged(t *testing.T) { servertest.Each(t, testDamaged) }

func testDamaged(t *testing.T, want string) {
	srv, conn, _ := start(t, want)
	shape := read(t, conn, "zoo")
	for _, damage := range strings.Split(strings.TrimSpace(servertest.Flavoured(srv.Server, damages)), "\n") {
		damage, repaired := strings.CutPrefix(damage, "~")
		for _, always := range []bool{false, true} {
			if always && !strings.Contains(damage, "visit") && !strings.Contains(damage, "twice") {
				continue // two are enough to see that it gives up
			}
			made := 0
			shape.Made(func(string) {
				if made++; made == 1 || always {
					run(t, conn, damage)
				}
			})
			_, err := shape.Clone(t.Context(), conn, "damaged")
			switch {
			case repaired || !always:
				if err != nil {
					t.Errorf("%s: %v", damage, err)
					continue
				}
				if again := made > 1; again == repaired {
					t.Errorf("%s: made %d times", damage, made)
				}
				same(t, srv, "zoo", "damaged")
				run(t, conn, "DROP DATABASE damaged")
			case !errors.Is(err, template.ErrDiffers) || made < 2 || !strings.Contains(err.Error(), "hint: "):
				t.Errorf("%s: made %d times: %v", damage, made, err)
			}
		}
	}
}
