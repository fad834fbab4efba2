package supervisor

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

func TestSwapNotice(t *testing.T) {
	const mb = 1 << 20
	of := func(files int64) *client.Swap {
		return &client.Swap{FilesBytes: &files, OfBytes: 200 * mb, MachineBytes: 1000 * mb}
	}
	said := ""
	for _, c := range []struct {
		name string
		swap *client.Swap
		want string // in what is said; "" for nothing
	}{
		{"nothing on the machine", nil, ""},
		{"not known", &client.Swap{OfBytes: 200 * mb, MachineBytes: 100 * mb}, ""},
		{"of others", of(0), ""},
		{"hardly any", of(15 * mb), ""},
		{"some", of(101 * mb), "101 MB of 200 MB of its data is swapped out"},
		{"more", of(150 * mb), "101 MB of 200 MB"}, // said once; the line of status has the numbers
		{"less", of(9 * mb), "101 MB of 200 MB"},
		{"hardly any is left", of(7 * mb), ""},
		{"still", of(15 * mb), ""},
	} {
		said = swapNotice(c.swap, said)
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, want %q", c.name, said, c.want)
		}
	}
}
