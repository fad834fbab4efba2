package lab

import (
	"cmp"
	"fmt"
	"slices"
)

// ToldThreads is the number of threads that conclusions speak of, or the nearest that is measured:
// that of the published comparison's latencies.
const ToldThreads = 8

// NearestThreads is the one of the numbers that is nearest to ToldThreads, the lower one of two.
func NearestThreads(threads []int) int {
	distance := func(n int) int { return max(n-ToldThreads, ToldThreads-n) }
	return slices.MinFunc(threads, func(a, b int) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b)) })
}

// WriteWorkloads are those of sysbench whose transactions update rows, and leave as many as there were.
var WriteWorkloads = []string{"oltp_update_index", "oltp_update_non_index", "oltp_write_only", "oltp_read_write"}

// ThreadsOf is a number of threads in words.
func ThreadsOf(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
