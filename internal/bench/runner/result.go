package runner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Gain is how many times better something must be to be told as a gain: less lies within
// what two runs differ by.
const Gain = 1.05

// Result is what a run of a scenario measured.
type Result struct {
	Scenario string
	Title    string
	Unit     Unit
	Settings map[string]string
	Machine  Machine // filled in by the caller, see ReadMachine
	Rows     []Row   // in the order of the cases
	Beside   []Measure
	XName    string
	// Ramaria is the version of the program that measured, and Time when it began; filled in by
	// the caller. "" and zero are not known.
	Ramaria string
	Time    time.Time
	// Command is what was typed, so that it can be typed again; filled in by the caller.
	Command string
	// Conclusion says in a sentence what the figures mean, and of how few rounds if they are few;
	// "" for nothing.
	Conclusion string
	// Interrupted says that the run was ended early; the rows hold what was measured.
	Interrupted bool
	// Failed says in a line why the run ended early, or was not begun: a step that could not
	// be done, an answer that was wrong. The row that it was in has no figures, and nothing is
	// concluded.
	Failed string
}

// Row is what was measured of one case.
type Row struct {
	Name     string
	Settings string
	// Rounds is how many rounds were counted. Most give one sample each.
	Rounds  int
	Samples []float64 // in the order in which they were measured
	Stats
	// Base is the row that this one is compared with, "" for the first.
	Base string
	// Ratio says how many times better the median is than that of the row Base:
	// above 1 is better, whatever the unit. NaN if one of them is missing.
	Ratio float64
	// Note says why there are no figures.
	Note string
	// Series and X place the row on a curve, see Case.
	Series string
	X      float64
	Panel  string
	// Ours says that the row is of Ramaria: reports show it.
	Ours    bool
	Command string
	// Beside are the medians of the further measures, by name; of those that were told.
	Beside map[string]float64

	beside map[string][]float64
}

func newResult(s Scenario) Result {
	r := Result{Scenario: s.Name, Title: s.Title, Unit: s.Unit, Settings: s.Settings, Beside: s.Beside, XName: s.XName, Rows: make([]Row, len(s.Cases))}
	for i, c := range s.Cases {
		r.Rows[i] = Row{Name: c.Name, Settings: c.Settings, Base: c.Base, Series: c.Series, X: c.X, Panel: c.Panel, Ours: c.Ours, Command: c.Command}
	}
	return r
}

// ByHand tells a command that shows what a round does, with words to be filled in, from one that
// measures the row alone.
func (r *Row) ByHand() bool {
	return r.Command != "" && !strings.HasPrefix(r.Command, "ramaria bench ")
}

// Refused is the result of a scenario that was not begun.
func Refused(s Scenario, why error) Result {
	r := newResult(s)
	r.Failed = reason(why)
	r.summarise()
	return r
}

// fail takes the figures of a row back: what it measured is nothing to go by.
func (r *Row) fail(why error) {
	r.Rounds, r.Samples, r.beside = 0, nil, nil
	r.Note = "failed: " + reason(why)
}

// reason leaves out hints, and what a program has said.
func reason(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSuffix(strings.TrimSpace(line), ":")
}

// summarise computes everything that follows from the samples.
func (r *Result) summarise() {
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Stats = Summarise(r.Unit, row.Samples)
		for name, values := range row.beside {
			slices.Sort(values)
			if row.Beside == nil {
				row.Beside = map[string]float64{}
			}
			row.Beside[name] = Quantile(values, 0.5)
		}
		if row.Count == 0 && row.Note == "" {
			row.Note = "not measured"
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Ratio = r.Unit.Ratio(r.BaseOf(row).Median, row.Median)
	}
}

// Gains says whether a row is better than the one that it is compared with, and Loses whether it
// is worse, as Beats has it.
func (r *Result) Gains(row *Row) bool { return r.Beats(row, r.BaseOf(row)) }

// Loses is the opposite of Gains; between them lies what the rounds cannot tell apart.
func (r *Result) Loses(row *Row) bool { return r.Beats(r.BaseOf(row), row) }

// Beats says whether a row is better than another by Gain, and that in every round. A plain number
// is never better, nor is a row without figures.
func (r *Result) Beats(row, other *Row) bool {
	if r.Unit == Count || !(r.Unit.Ratio(other.Median, row.Median) >= Gain) {
		return false
	}
	mine, others := row.each(), other.each()
	switch {
	case len(mine) == 0 || len(others) == 0:
		return false
	case r.Unit.MoreIsBetter():
		return slices.Min(mine) > slices.Max(others)
	}
	return slices.Max(mine) < slices.Min(others)
}

// each returns a value of each round: one sample of thousands that was held up makes no round.
func (r *Row) each() []float64 { return independent(finite(r.Samples), r.Rounds) }

// fewRounds is below what a median needs to be more than one of its rounds.
const fewRounds = 3

// NoGain says what something gains that is so many times as good, and that no row shows by Gains:
// nothing, or what the rounds are too few to tell. It is a predicate: "RAM" goes before it.
func (r *Result) NoGain(ratio float64) string {
	if ratio >= Gain && r.leastRounds() < fewRounds {
		return "gains what only more rounds can tell from noise"
	}
	return "gains nothing that stands out from the noise"
}

// leastRounds is how many rounds the row has that has the fewest, at most fewRounds.
func (r *Result) leastRounds() int {
	least := fewRounds
	for _, row := range r.Rows {
		if row.Rounds > 0 {
			least = min(least, row.Rounds)
		}
	}
	return least
}

// Few says of how few rounds the figures are: "of a single round"; "" of enough.
func (r *Result) Few() string {
	least := r.leastRounds()
	switch {
	case least == 1:
		return "of a single round"
	case least < fewRounds:
		return fmt.Sprintf("of %d rounds alone", least)
	}
	return ""
}

// alone is Few to begin a conclusion with.
func (r *Result) alone() string {
	if few := r.Few(); few != "" {
		return "O" + few[1:] + ": "
	}
	return ""
}

// BaseOf returns the row that another is compared with: the first, unless it names one.
func (r *Result) BaseOf(row *Row) *Row {
	for i := range r.Rows {
		if row.Base != "" && r.Rows[i].Name == row.Base {
			return &r.Rows[i]
		}
	}
	return &r.Rows[0]
}

// Measured says whether there is a figure in at least one row.
func (r *Result) Measured() bool {
	for _, row := range r.Rows {
		if row.Count > 0 && !math.IsNaN(row.Median) {
			return true
		}
	}
	return false
}
