package main

import (
	"slices"
	"testing"
)

func TestFindTorn(t *testing.T) {
	whole := make([]byte, 3*pageSize)
	for b := range 3 {
		fill(whole[b*pageSize:(b+1)*pageSize], uint64(100+b))
	}
	torn := slices.Clone(whole)
	fill(torn[pageSize+4096:2*pageSize], 7)
	for name, test := range map[string]struct {
		data []byte
		want int
	}{
		"whole blocks":               {whole, 0},
		"the second one is torn":     {torn, 4096},
		"nothing was written so far": {make([]byte, pageSize), 0},
	} {
		if got := findTorn(test.data); got != test.want {
			t.Errorf("%s: torn at %d, want %d", name, got, test.want)
		}
	}
}
