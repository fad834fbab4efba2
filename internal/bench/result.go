package bench

import "math"

// Result is what a run of a scenario measured.
type Result struct {
	Scenario string
	Title    string
	Unit     Unit
	Settings map[string]string
	Machine  Machine // filled in by the caller, see ReadMachine
	Rows     []Row   // in the order of the cases
	// Interrupted says that the run was ended early; the rows hold what was measured.
	Interrupted bool
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
}

func newResult(s Scenario) Result {
	r := Result{Scenario: s.Name, Title: s.Title, Unit: s.Unit, Settings: s.Settings, Rows: make([]Row, len(s.Cases))}
	for i, c := range s.Cases {
		r.Rows[i] = Row{Name: c.Name, Settings: c.Settings, Base: c.Base}
	}
	return r
}

// summarise computes everything that follows from the samples.
func (r *Result) summarise() {
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Stats = Summarise(r.Unit, row.Samples)
		if row.Count == 0 && row.Note == "" {
			row.Note = "not measured"
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Ratio = r.Unit.Ratio(r.base(row).Median, row.Median)
	}
}

// base returns the row that another is compared with.
func (r *Result) base(row *Row) *Row {
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
