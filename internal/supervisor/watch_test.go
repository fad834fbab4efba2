package supervisor

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// kindOnly is a volume of which nothing but the kind is asked.
type kindOnly struct{ volume.Volume }

func (kindOnly) Kind() volume.Kind { return volume.Shm }

func TestRoomWarnings(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name       string
		used, free int64
		want       []string // in the one warning; nil for none
	}{
		{"empty", 0, 1000 * mb, nil},
		{"nearly 90 %", 899 * mb, 101 * mb, nil},
		{"90 %", 900 * mb, 100 * mb, []string{"volume shm is 90 % full", "900 MB used", "100 MB free", "bound by limit"}},
		{"hardly room", 984 * mb, 16 * mb, []string{"98 % full"}},
		{"full", 990 * mb, 10 * mb, []string{"volume shm is full", "10 MB free", "\nhint: "}},
		{"small and empty", 1 * mb, 15 * mb, []string{"is full"}},
		{"nothing at all", 0, 0, []string{"is full"}},
	} {
		got := RoomWarnings(kindOnly{}, volume.Usage{Used: c.used, Free: c.free, Bound: volume.ByLimit})
		if len(got) != min(1, len(c.want)) {
			t.Errorf("%s: got %q", c.name, got)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(got[0], w) {
				t.Errorf("%s: no %q in %q", c.name, w, got[0])
			}
		}
	}
}
