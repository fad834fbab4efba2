package runner

// order returns the sequence of the n cases in one round.
//
// Within a round every case runs once, so rounds are interleaved. From round to
// round the sequence changes as in a Williams design (E. J. Williams, 1949,
// "Experimental designs balanced for the estimation of residual effects of
// treatments"): over n rounds (2n if n is odd) each case runs equally often in
// each position, which cancels a steady drift of the machine, and equally often
// right after each other one, so that no case always pays for what its neighbour
// left behind, such as dirty pages that are still being written. For two cases
// that is A B, B A.
func order(n, round int) []int {
	seq := make([]int, n)
	for i := range seq {
		// 0, 1, n-1, 2, n-2, ...: neighbours differ by every distance once.
		step := (i + 1) / 2
		if i%2 == 0 {
			step = n - step
		}
		seq[i] = (step + round) % n
	}
	if n%2 == 1 && (round/n)%2 == 1 {
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
			seq[i], seq[j] = seq[j], seq[i]
		}
	}
	return seq
}
