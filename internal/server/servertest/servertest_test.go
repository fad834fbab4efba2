package servertest

import (
	"os"
	"slices"
	"testing"
)

func TestQuickRunsThin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: an ordinary user's tests run on one server")
	}
	t.Setenv(EnvServer, "")
	for _, tc := range []struct {
		name  string
		quick string
		run   func(*testing.T, func(*testing.T, string))
		want  []string
	}{
		{"each", "", Each, Servers},
		{"each, quick", "1", Each, []string{"mariadb:10.11", "mysql:9.7"}},
		{"always, quick", "1", EachAlways, Servers},
		{"from", "", func(t *testing.T, f func(*testing.T, string)) { EachFrom(t, "mariadb:11.4", f) }, []string{"mariadb:11.4", "mariadb:11.8"}},
		{"from, quick", "1", func(t *testing.T, f func(*testing.T, string)) { EachFrom(t, "mariadb:11.4", f) }, []string{"mariadb:11.8"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(EnvQuick, tc.quick)
			var got []string
			tc.run(t, func(_ *testing.T, want string) { got = append(got, want) })
			if !slices.Equal(got, tc.want) {
				t.Errorf("servers %q, want %q", got, tc.want)
			}
		})
	}
}
