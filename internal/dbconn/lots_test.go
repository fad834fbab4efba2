package dbconn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TestLots: nothing is lost or moved, no lot of several is larger than Packet, and none is smaller than it need be.
func TestLots(t *testing.T) {
	of := func(size, n int) []string { return slices.Repeat([]string{strings.Repeat("x", size)}, n) }
	for _, c := range []struct {
		name  string
		texts []string
		want  []int // how many are in each
	}{
		{"none", nil, nil},
		{"one", of(10, 1), []int{1}},
		{"few", of(10, 5), []int{5}},
		{"large ones", slices.Concat(of(10, 2), of(2*dbconn.Packet, 2), of(10, 1)), []int{2, 1, 1, 1}},
		{"two and a half", of(dbconn.Packet/4, 10), []int{3, 3, 3, 1}},
	} {
		lots := dbconn.Lots(c.texts)
		var sizes []int
		for _, lot := range lots {
			sizes = append(sizes, len(lot))
			if text := strings.Join(lot, "; "); len(lot) > 1 && len(text) > dbconn.Packet {
				t.Errorf("%s: %d bytes in a lot", c.name, len(text))
			}
		}
		if !slices.Equal(sizes, c.want) || !slices.Equal(slices.Concat(lots...), c.texts) {
			t.Errorf("%s: lots of %v, want %v", c.name, sizes, c.want)
		}
	}
}
