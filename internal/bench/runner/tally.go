package runner

import "fmt"

// Tally counts verdicts.
type Tally struct {
	Rows                   int // all
	Judged                 int // those that could be told from noise, if they differ
	Better, Worse, Changed int
}

// TallyOf counts the verdicts of a comparison.
func TallyOf(list []Difference) Tally {
	t := Tally{Rows: len(list)}
	for _, d := range list {
		switch d.Verdict {
		case Better:
			t.Better++
		case Worse:
			t.Worse++
		case Changed:
			t.Changed++
		case Noise:
		default:
			continue
		}
		t.Judged++
	}
	return t
}

// FalseAlarms is how many rows would be told as changed on average, at most, if none had.
func (t Tally) FalseAlarms() float64 { return float64(t.Judged) * Alpha }

// Summary says what the comparison came to.
func (t Tally) Summary() string {
	changed := t.Better + t.Worse + t.Changed
	if t.Judged == 0 {
		return "no row could be compared"
	}
	s := fmt.Sprintf("%d of %s changed beyond noise", changed, rowsOf(t.Judged))
	if changed > 0 {
		s += fmt.Sprintf(": %d better, %d worse", t.Better, t.Worse)
	}
	if t.Changed > 0 {
		s += fmt.Sprintf(", %d neither", t.Changed)
	}
	if rest := t.Rows - t.Judged; rest > 0 {
		s += fmt.Sprintf("; %s could not be compared", rowsOf(rest))
	}
	return s
}

func rowsOf(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
