package labtest

import (
	"context"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Concluded is what a scenario says of rows with such medians, by the beginnings of their names.
func Concluded(s runner.Scenario, medians map[string]float64, beside map[string]map[string]float64) string {
	r := Measured(s, Median(medians, beside))
	return s.Conclusion(&r)
}

// Median finds a row's, and what is told beside it, by the longest beginning of its name.
func Median(medians map[string]float64, beside map[string]map[string]float64) func(row string) (runner.Sample, bool) {
	return func(row string) (runner.Sample, bool) {
		longest := ""
		for name := range medians {
			if strings.HasPrefix(row, name) && len(name) > len(longest) {
				longest = name
			}
		}
		return runner.Sample{Value: medians[longest], Beside: beside[longest]}, longest != ""
	}
}

// Measured is what a run of one round comes to, of which each row measures a sample, or is not
// available.
func Measured(s runner.Scenario, of func(row string) (runner.Sample, bool)) runner.Result {
	s.Conclusion, s.Cases = nil, slices.Clone(s.Cases)
	for i, c := range s.Cases {
		sample, there := of(c.Name)
		s.Cases[i] = runner.Case{
			Name: c.Name, Settings: c.Settings, Base: c.Base, Series: c.Series, X: c.X, Ours: c.Ours,
			Prepare: func(context.Context) error {
				if !there {
					return runner.ErrUnavailable
				}
				return nil
			},
			Round: func(context.Context) (runner.Sample, error) { return sample, nil },
		}
	}
	r, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(context.Background(), s)
	if err != nil {
		panic(err)
	}
	return r
}

// Spread moves the rounds of rows apart, by a factor each way.
func Spread(r *runner.Result, factor float64) {
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Rounds, row.Samples = 3, []float64{row.Median / factor, row.Median, row.Median * factor}
	}
}
