package durable

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// TestWrites: the disks of the rows, the slowest first and the one as it is last.
func TestWrites(t *testing.T) {
	for _, tc := range []struct{ asked, want []int }{
		{nil, []int{0}}, {[]int{0}, []int{0}}, {[]int{0, 3000, 500, 3000}, []int{500, 3000, 0}},
	} {
		b := &bench{lab: &lab.Lab{Options: lab.Options{DiskWrites: tc.asked}}}
		if have := b.writes(); !slices.Equal(have, tc.want) {
			t.Errorf("of %v the disks are %v", tc.asked, have)
		}
	}
}

// TestHeldConclusion: each disk is told apart, and a p99 above the stock server's is named.
func TestHeldConclusion(t *testing.T) {
	b := &bench{lab: &lab.Lab{Options: lab.Options{DiskWrites: []int{500, 0}, Threads: []int{1, 8}, Workloads: []string{updates}}}}
	var r runner.Result
	for _, writes := range b.writes() {
		for _, n := range b.threads() {
			p := point{workload: updates, threads: n, writes: writes}
			for server, ratio := range map[string]float64{RowStock: 1, RowDurable: float64(n)} {
				row := runner.Row{Name: b.rowName(server, p), Ratio: ratio, Beside: map[string]float64{lab.TailLatency: 1 / ratio}}
				row.Count = 1
				if writes == 0 && n == 8 && server == RowDurable {
					row.Beside[lab.TailLatency] = 2
				}
				r.Rows = append(r.Rows, row)
			}
		}
	}
	text := b.heldConclusion(&r)
	for _, want := range []string{
		"oltp_update_index, disk EMULATED 500 writes/s, 1.00, 8.00 times (threads: 1, 8); oltp_update_index, disk as it is, 1.00, 8.00 times (threads: 1, 8). ",
		"99 % of them take longer than the stock server's with oltp_update_index, 8 threads, disk as it is.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
