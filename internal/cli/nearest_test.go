package cli

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"dump", "up", "run", "rm", "from", "for", "volume"}
	for meant, want := range map[string]string{
		"upp": "up", "UP": "up", "form": "from", "fromm": "from", "volum": "volume", "dupm": "dump",
		"x": "", "nothing": "", "": "", "u": "",
	} {
		if got := nearest(meant, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", meant, got, want)
		}
	}
}
