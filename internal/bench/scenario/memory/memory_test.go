package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// TestInstancesWithoutRoom: the row says what is missing, and the scenario is not refused.
func TestInstancesWithoutRoom(t *testing.T) {
	l := labtest.Small(t, "1000")
	for _, s := range []runner.Scenario{Fleet(l), Scenario(l)} {
		err := s.Cases[0].Prepare(t.Context())
		if refused := l.Room(s, false); refused != nil || !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "of memory are available") {
			t.Errorf("%s: refused %v, row %v", s.Name, refused, err)
		}
	}
}
