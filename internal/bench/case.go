package bench

import (
	"context"
	"errors"
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
}

// Case is one row: a place or a method. Every function gets the context of the
// run and returns when it ends. Only Name and Round are required.
type Case struct {
	Name string
	// Settings says what sets this row apart, for the report: "stock, disk".
	Settings string
	// Base is the name of the row that this one is compared with, "" for the first.
	Base string
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
	// Settings are stated with the result: server version, data size, and whatever
	// else a reader needs to believe or repeat it.
	Settings map[string]string
}

// Timed makes a Round out of work: the sample is the wall time that it took.
func Timed(work func(ctx context.Context) error) func(ctx context.Context) (Sample, error) {
	return func(ctx context.Context) (Sample, error) {
		start := time.Now()
		err := work(ctx)
		return Sample{Value: time.Since(start).Seconds()}, err
	}
}
