package scenario

import (
	"math"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func TestTwoDigits(t *testing.T) {
	for v, want := range map[float64]string{489.1: "490", 1000: "1000", 99.6: "100", 49.6: "50", 2.94: "2.9", 0.0344: "0.034", 1: "1.0", math.NaN(): "-", math.Inf(1): "-"} {
		if got := twoDigits(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestConclusions(t *testing.T) {
	for _, tc := range []struct {
		name     string
		conclude func(*runner.Result) string
		medians  map[string]float64
		want     string
	}{
		{"reset", resetConclusion, map[string]float64{
			RowHand: 0.05, RowThree: 0.0005, RowThreeLarge: 0.0006, RowMake: 0.1, RowUndo: 0.12, RowShopFill: 0.02, RowShopClone: 0.03,
		}, "a reset after 3 rows takes 0.50 ms, 100 times less than by hand; in 2 GB 1.20 times as long; putting 10,000 rows back 1.20 times as long as changing them; a clone of shop 1.50 times as long as its INSERT ... SELECT alone."},
		{"reset without shop", resetConclusion, map[string]float64{
			RowHand: 0.05, RowThree: 0.0005, RowThreeLarge: math.NaN(), RowMake: 0.1, RowUndo: 0.12, RowShopFill: math.NaN(), RowShopClone: math.NaN(),
		}, "a reset after 3 rows takes 0.50 ms, 100 times less than by hand; putting 10,000 rows back 1.20 times as long as changing them."},
		{"reset, no better", resetConclusion, map[string]float64{RowHand: 0.051, RowThree: 0.05},
			"a reset after 3 rows takes 50.00 ms; by hand it is 1.02 times that, which gains nothing that stands out from the noise."},
		{"reset, nothing", resetConclusion, nil, ""},
		{"cycle", cycleConclusion, map[string]float64{RowCycleHand: 30, RowCycleReset: 1500}, "of two workers, 1500 resets a second, each of three changed rows, 50 times as many cycles as by hand."},
		{"cycle, all of it", cycleConclusion, map[string]float64{
			RowCycleHand: 30, RowCycleReset: 1500, RowCycleStock: 1, RowCycleSession: 25, RowCycleOne: 489.1,
		}, "of two workers, 1500 resets a second, each of three changed rows, 50 times as many cycles as by hand; of one worker, the best by hand is 25 times a stock server on disk, a reset, which puts back three changed rows, 490 times."},
		{"cycle, without workers", cycleConclusion, map[string]float64{
			RowCycleHand: math.NaN(), RowCycleReset: 1500, RowCycleStock: 1, RowCycleSession: 25, RowCycleOne: 1000,
		}, "of one worker, the best by hand is 25 times a stock server on disk, a reset, which puts back three changed rows, 1000 times."},
		{"cycle, nothing", cycleConclusion, nil, ""},
		{"fork", func(r *runner.Result) string {
			return forkConclusion(r, volume.Shm, "5302 rows", "ramaria branch, 2.00 GB")
		}, map[string]float64{
			RowStock: 1, RowBare(volume.Shm): 0.05, RowUp(volume.Shm): 0.1, rowBranchOf("5302 rows"): 0.1, "ramaria branch, 2.00 GB": 0.15,
		}, "ramaria up takes 50.0 ms beyond cp -a and a bare start, and is 10.0 times faster than the stock way; ramaria branch, 2.00 GB takes 1.5 times as long as that of 5302 rows."},
		{"fork, no branches", func(r *runner.Result) string { return forkConclusion(r, volume.Shm, "5302 rows", "") }, map[string]float64{
			RowStock: 1, RowBare(volume.Shm): 0.05, RowUp(volume.Shm): 0.1, rowBranchOf("5302 rows"): math.NaN(),
		}, "ramaria up takes 50.0 ms beyond cp -a and a bare start, and is 10.0 times faster than the stock way."},
		{"fork, nothing", func(r *runner.Result) string { return forkConclusion(r, volume.Shm, "5302 rows", "") }, nil, ""},
		{"load", loadConclusion, map[string]float64{RowLoadOneRow: 3, RowLoad: 0.3, RowMyloader: 0.6, RowLoadImage: 0.2},
			"ramaria load is 2.0 times as fast as myloader; 10.0 times as fast as the client. A fresh server that has it, from an image, is there in 200 ms."},
		{"load, all of the client", loadConclusion, map[string]float64{RowLoadOneRow: 3, RowLoadExtended: 0.6, RowLoadPacked: 0.45, RowLoadOpen: 0.15, RowLoad: 0.3},
			"ramaria load is 2.0 times as fast as the client with extended INSERTs; 1.5 times as fast as the client with the packed dump; " +
				"0.5 times as fast as extended INSERTs over an open connection, which starts no program; 10.0 times as fast as the client."},
		{"loadlarge", loadConclusion, map[string]float64{RowLoadOneRow: 3, RowLoadExtended: 0.6, RowLoad: 0.3, RowLoadSlow: 1},
			"ramaria load is 3.0 times as fast as the client, both a row an INSERT; 2.0 times as fast as the client, both with extended INSERTs."},
		{"load, no image", loadConclusion, map[string]float64{RowLoadOneRow: 3, RowLoad: 0.3, RowLoadImage: math.NaN()}, "ramaria load is 10.0 times as fast as the client."},
		{"log", logConclusion, map[string]float64{
			RowNoLog("oltp_write_only"): 100, RowLog("oltp_write_only"): 95, RowWatched("oltp_write_only"): 90,
		}, "the log and the journal cost: oltp_write_only 10 % (5 % the log alone)."},
		{"log, nothing", logConclusion, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &runner.Result{}
			for name, median := range tc.medians {
				r.Rows = append(r.Rows, runner.Row{Name: name, Samples: []float64{median}, Stats: runner.Stats{Median: median}})
			}
			if got := tc.conclude(r); got != tc.want {
				t.Errorf("%q\nwant %q", got, tc.want)
			}
		})
	}
}
