package cli

import (
	"math"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench"
)

func TestConclusions(t *testing.T) {
	for _, tc := range []struct {
		name     string
		conclude func(*bench.Result) string
		medians  map[string]float64
		want     string
	}{
		{"reset", concludeReset, map[string]float64{
			bench.RowHand: 0.05, bench.RowThree: 0.0005, bench.RowThreeLarge: 0.0006, bench.RowMake: 0.1, bench.RowUndo: 0.12, bench.RowSakilaFill: 0.02, bench.RowSakilaClone: 0.03,
		}, "a reset after 3 rows takes 0.50 ms, 100 times less than by hand; in 2 GB 1.20 times as long; undoing 10,000 rows 1.20 times as long as changing them; a clone of sakila 1.50 times as long as its INSERT ... SELECT alone."},
		{"reset without sakila", concludeReset, map[string]float64{
			bench.RowHand: 0.05, bench.RowThree: 0.0005, bench.RowThreeLarge: math.NaN(), bench.RowMake: 0.1, bench.RowUndo: 0.12, bench.RowSakilaFill: math.NaN(), bench.RowSakilaClone: math.NaN(),
		}, "a reset after 3 rows takes 0.50 ms, 100 times less than by hand; undoing 10,000 rows 1.20 times as long as changing them."},
		{"reset, nothing", concludeReset, nil, ""},
		{"cycle", concludeCycle, map[string]float64{bench.RowCycleHand: 30, bench.RowCycleReset: 1500}, "1500 cycles a second, 50 times as many as by hand."},
		{"cycle, nothing", concludeCycle, nil, ""},
		{"log", concludeLog, map[string]float64{
			bench.RowNoLog("oltp_write_only"): 100, bench.RowLog("oltp_write_only"): 95, bench.RowWatched("oltp_write_only"): 90,
		}, "the log and the journal cost: oltp_write_only 10 % (5 % the log alone)."},
		{"log, nothing", concludeLog, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &bench.Result{}
			for name, median := range tc.medians {
				r.Rows = append(r.Rows, bench.Row{Name: name, Stats: bench.Stats{Median: median}})
			}
			if got := tc.conclude(r); got != tc.want {
				t.Errorf("%q\nwant %q", got, tc.want)
			}
		})
	}
}
