package supervisor

import (
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

func TestSwapsNow(t *testing.T) {
	const mb = 1 << 20
	of := func(files int64) *client.Swap {
		return &client.Swap{FilesBytes: &files, OfBytes: 200 * mb, MachineBytes: 1000 * mb}
	}
	said := false
	for _, c := range []struct {
		name string
		swap *client.Swap
		want bool
	}{
		{"nothing on the machine", nil, false},
		{"not known", &client.Swap{OfBytes: 200 * mb, MachineBytes: 100 * mb}, false},
		{"of others", of(0), false},
		{"hardly any", of(15 * mb), false},
		{"some", of(101 * mb), true},
		{"less", of(9 * mb), true},
		{"hardly any is left", of(7 * mb), false},
		{"still", of(15 * mb), false},
	} {
		if said = swapsNow(c.swap, said); said != c.want {
			t.Errorf("%s: %v", c.name, said)
		}
	}
}
