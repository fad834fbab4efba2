package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrderOfTwoIsABBA(t *testing.T) {
	var got []int
	for round := range 4 {
		got = append(got, order(2, round)...)
	}
	if diff := cmp.Diff([]int{0, 1, 1, 0, 0, 1, 1, 0}, got); diff != "" {
		t.Error(diff)
	}
}

// Each case must run once in every round, equally often in each position, and
// equally often right after each other case.
func TestOrderIsBalanced(t *testing.T) {
	for n := 1; n <= 9; n++ {
		cycle := n
		if n%2 == 1 {
			cycle = 2 * n
		}
		position := map[[2]int]int{}
		follows := map[[2]int]int{}
		for round := range cycle {
			seen := map[int]bool{}
			seq := order(n, round)
			for i, c := range seq {
				seen[c] = true
				position[[2]int{c, i}]++
				if i > 0 {
					follows[[2]int{seq[i-1], c}]++
				}
			}
			if len(seen) != n {
				t.Errorf("n=%d round %d: %v leaves a case out", n, round, seq)
			}
		}
		for a := range n {
			for b := range n {
				if got, want := position[[2]int{a, b}], cycle/n; got != want {
					t.Errorf("n=%d: case %d is %d times in position %d, want %d", n, a, got, b, want)
				}
				if got, want := follows[[2]int{a, b}], cycle/n; a != b && got != want {
					t.Errorf("n=%d: case %d follows %d %d times, want %d", n, b, a, got, want)
				}
			}
		}
	}
}
