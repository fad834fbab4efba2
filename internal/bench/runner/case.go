package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrUnavailable is wrapped by a Case's Prepare when this machine cannot run the
// case at all (a kind of volume that needs root, a program that is not there).
// The row stays in the table, with the error in place of figures.
var ErrUnavailable = errors.New("not available on this machine")

// Sample is what one round measured, in the unit of the scenario: seconds,
// operations a second, or bytes.
type Sample struct {
	Value float64
	// Values, if there are any, are taken in the place of Value: those of a round that does
	// something short many times, so that there is a tail to speak of.
	Values []float64
	// Beside are further measures of the round, by the names that Scenario.Beside has.
	Beside map[string]float64
}

// Published is the setting that says what others measured and published, by whose example a
// scenario is made.
const Published = "published"

// Measure is something that is told beside the value of a round.
type Measure struct {
	Name string // "p99 latency", "written to the device"
	Unit Unit
}

// Case is one row: a place or a method. Every function gets the context of the
// run and returns when it ends. Only Name and Round are required.
type Case struct {
	Name string
	// Settings says what sets this row apart, for the report: "stock, disk".
	Settings string
	// Base is the name of the row that this one is compared with, "" for the first.
	Base string
	// Series and X place the row on a curve: the rows of one Series, by X. A row without a
	// Series is a bar.
	Series string
	X      float64
	// Panel is the drawing that a row with a Series is in, where there are several; "" for one of all. The rows of
	// a panel are drawn by their ratios: what they are compared with is a line at 1.
	Panel string
	// Ours says that the row is of Ramaria, and not of what it is compared with.
	Ours bool
	// Command is what measures this row alone, or does by hand what a round of it does, see
	// Row.ByHand; "" for nothing. What repeats all of it is Result.Command.
	Command string
	// Found says what is only known of this row once it is prepared, "" for nothing: it is stated
	// with Settings. It may be nil.
	Found func() string
	// Prepare is called once, before the first round of any case.
	Prepare func(ctx context.Context) error
	// Round does the work once and returns what it measured. What it must clean up
	// before the next round belongs in it, outside the time that it takes.
	Round func(ctx context.Context) (Sample, error)
	// Check is called after every round, warm-up too, and is not measured. It
	// returns an error when the answer of the round is wrong; the run ends there.
	Check func(ctx context.Context) error
	// Cleanup is called once at the end for every case whose Prepare was called,
	// even if that failed, the last one first. Its context is not the one that
	// Ctrl-C ends; it has CleanupTimeout.
	Cleanup func(ctx context.Context) error
}

// Scenario is a set of cases with one unit and one meaning.
type Scenario struct {
	Name  string // one word, as typed: cycle
	Title string // what a round does: "create database, load fixture, drop"
	Unit  Unit
	Cases []Case
	// Rounds is how many count unless the user says otherwise; 0 is DefaultRounds. Of a scenario
	// with one there is no other to warm up.
	Rounds int
	// Warm says that Prepare warms up: all rounds count.
	Warm bool
	// Disk and Memory are what it takes at most, in bytes: of the place on disk, and of memory with
	// its servers and all volumes. What only rows take that may be unavailable is not in it where it
	// is not there.
	Disk, Memory int64
	// Shm is the part of Memory that lies in /dev/shm, whose file system has a size of its own.
	Shm int64
	// Conclusion says in a sentence what the figures mean, "" for nothing; it may be nil.
	Conclusion func(*Result) string
	// Beside are the further measures that rounds tell.
	Beside []Measure
	// XName is what X counts where rows have a Series: "threads".
	XName string
	// Settings are stated with the result: server version, data size, and whatever
	// else a reader needs to believe or repeat it.
	Settings map[string]string
}

// Validate returns an error if no Runner can run it: it has no cases, two of one name, or one that
// lacks something or is compared with none.
func (s Scenario) Validate() error {
	if len(s.Cases) == 0 {
		return errors.New("no cases")
	}
	names := map[string]bool{}
	for i, c := range s.Cases {
		if names[c.Name] {
			return fmt.Errorf("two cases have the name %q", c.Name)
		}
		names[c.Name] = true
		if c.Name == "" || c.Round == nil {
			return fmt.Errorf("case %d (%q) lacks a name or a round", i, c.Name)
		}
		if c.Base != "" && !slices.ContainsFunc(s.Cases, func(b Case) bool { return b.Name == c.Base }) {
			return fmt.Errorf("case %q is compared with %q, which is none", c.Name, c.Base)
		}
	}
	return nil
}

// Timed makes a Round out of work: the sample is the wall time that it took.
func Timed(work func(ctx context.Context) error) func(ctx context.Context) (Sample, error) {
	return func(ctx context.Context) (Sample, error) {
		start := time.Now()
		err := work(ctx)
		return Sample{Value: time.Since(start).Seconds()}, err
	}
}
