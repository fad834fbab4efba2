package runner

import "math"

// Verdict is what the comparison of a row came to.
type Verdict string

// The verdicts; in JSON, they are a contract.
const (
	Better     Verdict = "better"                 // B is
	Worse      Verdict = "worse"                  // B is
	Changed    Verdict = "changed"                // beyond noise, in a unit that has no better side
	Noise      Verdict = "within noise"           // or below TinyChange
	TooFew     Verdict = "too few rounds to tell" // whatever they were
	OnlyA      Verdict = "only in A"              // or measured there alone
	OnlyB      Verdict = "only in B"
	Unmeasured Verdict = "not measured" // on either side
	OtherUnit  Verdict = "other unit"
	OtherWork  Verdict = "other work" // a round does something else, or more of it: the titles differ
)

// Difference is a row of one file against the same row of another.
type Difference struct {
	Scenario string
	Row      string
	A, B     Side
	// Ratio says how many times better the median of B is: above 1 is better, whatever
	// the unit; the plain B / A of a unit that has no better side. NaN without one.
	Ratio float64
	// Low and High are the bounds of its interval of 95 %; NaN without one.
	Low, High float64
	// P is that of the test, see pValue; NaN if there was none.
	P       float64
	Verdict Verdict
	// Differs are the settings and facts of the machine that differ.
	Differs []Fact
}

// Side is one file's row. All is zero and NaN if it has none.
type Side struct {
	There  bool
	Unit   Unit
	Runs   int // how many results in the file have the row
	Rounds int
	// Samples may be more than there were rounds: each then counts as one, by its median.
	Samples int
	Median  float64 // of all samples
	Note    string  // why there are no figures
}

// Fact is a setting, or a fact of the machine, that differs between two files.
type Fact struct {
	Name string `json:"name"`
	A    string `json:"a"` // "" if it is not told there
	B    string `json:"b"`
}

// Compare compares the rows of two files, by scenario and name, in the order of a and
// then of what only b has. Where a file has several runs of a scenario, their rounds
// count together.
//
// A row is better or worse when three things hold: the Mann-Whitney U test on one
// value a round has a p below Alpha; the interval of the ratio does not contain 1; the
// medians differ by TinyChange or more. No correction is made for many rows: see
// Tally.FalseAlarms.
func Compare(a, b []Result) []Difference {
	keys, sides := pair(a, b)
	list := make([]Difference, len(keys))
	for i, k := range keys {
		list[i] = compareRow(k, &sides[k][0], &sides[k][1])
	}
	return list
}

// rowKey is what makes two rows the same.
type rowKey struct{ scenario, row string }

// pool is a Side with what it is computed from.
type pool struct {
	Side
	samples []float64
	values  []float64 // one a round
	mixed   bool      // the runs have different units
	other   bool      // the runs have different titles
	results []*Result
	rows    []*Row
}

// pair puts the rows of both files together. Rows that b alone has come after those of
// their scenario.
func pair(a, b []Result) ([]rowKey, map[rowKey]*[2]pool) {
	sides := map[rowKey]*[2]pool{}
	var scenarios []string
	rows := map[string][]rowKey{}
	for which, results := range [][]Result{a, b} {
		for i := range results {
			r := &results[i]
			if _, known := rows[r.Scenario]; !known {
				scenarios = append(scenarios, r.Scenario)
			}
			for j := range r.Rows {
				k := rowKey{r.Scenario, r.Rows[j].Name}
				if sides[k] == nil {
					sides[k] = &[2]pool{}
					rows[r.Scenario] = append(rows[r.Scenario], k)
				}
				sides[k][which].add(r, &r.Rows[j])
			}
		}
	}
	var keys []rowKey
	for _, s := range scenarios {
		keys = append(keys, rows[s]...)
	}
	return keys, sides
}

// add adds one more run.
func (p *pool) add(r *Result, row *Row) {
	p.mixed = p.mixed || p.There && p.Unit != r.Unit
	p.other = p.other || p.There && p.results[0].Title != r.Title
	p.There, p.Unit = true, r.Unit
	p.Runs++
	p.Rounds += row.Rounds
	if row.Note != "" {
		p.Note = row.Note
	}
	if good := finite(row.Samples); len(good) > 0 {
		p.samples = append(p.samples, good...)
		p.values = append(p.values, independent(good, row.Rounds)...)
	}
	p.results, p.rows = append(p.results, r), append(p.rows, row)
}

// finish computes what all runs have together.
func (p *pool) finish() {
	switch {
	case len(p.samples) > 0:
		p.Samples = len(p.samples)
		p.Median = Summarise(p.Unit, p.samples).Median
		p.values = independent(p.values, 0)
	case p.Runs == 1:
		p.Median = p.rows[0].Median // of a file without samples
	default:
		p.Median = math.NaN()
	}
}

func (p *pool) measured() bool { return !math.IsNaN(p.Median) }

func compareRow(k rowKey, a, b *pool) Difference {
	a.finish()
	b.finish()
	nan := math.NaN()
	d := Difference{Scenario: k.scenario, Row: k.row, A: a.Side, B: b.Side, Ratio: nan, Low: nan, High: nan, P: nan}
	switch {
	case !b.There, a.measured() && !b.measured():
		d.Verdict = OnlyA
	case !a.There, b.measured() && !a.measured():
		d.Verdict = OnlyB
	case !a.measured():
		d.Verdict = Unmeasured
	case a.Unit != b.Unit, a.mixed, b.mixed:
		d.Verdict = OtherUnit
	case a.results[0].Title != b.results[0].Title, a.other, b.other:
		d.Verdict = OtherWork
	default:
		d.judge(a, b)
	}
	if a.There && b.There {
		d.Differs = differing(a, b)
	}
	return d
}

// judge compares two rows that were both measured, in one unit.
func (d *Difference) judge(a, b *pool) {
	d.Ratio = a.Unit.change(a.Median, b.Median)
	rank := 0
	if len(a.values) > 0 && len(b.values) > 0 {
		rank = outerRank(len(a.values), len(b.values))
	}
	if rank == 0 {
		d.Verdict = TooFew
		return
	}
	d.P = pValue(a.values, b.values)
	d.Low, d.High = ratioInterval(a.Unit, a.values, b.values, rank)
	if !math.IsNaN(d.Low) {
		// The median of all samples is not that of all pairs: in a lopsided row it may lie
		// outside. Wider is only more careful.
		d.Low, d.High = min(d.Low, d.Ratio), max(d.High, d.Ratio)
	}
	d.Verdict = Noise
	if d.P >= Alpha || d.Low <= 1 && d.High >= 1 || tiny(a.Median, b.Median) {
		return
	}
	switch more := b.Median > a.Median; {
	case !a.Unit.hasBetter():
		d.Verdict = Changed
	case more == a.Unit.MoreIsBetter():
		d.Verdict = Better
	default:
		d.Verdict = Worse
	}
}

// tiny tells changes that are none.
func tiny(a, b float64) bool {
	low, high := min(math.Abs(a), math.Abs(b)), max(math.Abs(a), math.Abs(b))
	return a == b || high-low < TinyChange*low
}
