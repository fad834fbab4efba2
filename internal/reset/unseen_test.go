package reset_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestUnseenDefault: MariaDB takes a default for a column with AUTO_INCREMENT, shows it nowhere, and
// inserts it instead of the next number.
func TestUnseenDefault(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		le.do("-ALTER TABLE counted ALTER COLUMN id SET DEFAULT '1'").Close() // MySQL refuses it
		le.reset()
		le.do("INSERT INTO counted (a) VALUES (9)").Close()
		le.reset()
	})
}
