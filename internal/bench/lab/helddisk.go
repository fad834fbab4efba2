package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

const (
	// rateOff is by how much writes may differ from the rate that they are held to: the kernel lets them through
	// in bursts.
	rateOff = 0.25
	// rateTries is how often they are measured before that is believed.
	rateTries = 3
)

// HeldDisk is the lab's disk, which the processes that are added to it share, held to a rate of writes.
//
// The invariant: a rate that was not measured is not one that it can be held to.
type HeldDisk struct {
	host     host.Host
	throttle *runner.Throttle
	err      error // why it cannot be held back at all
	rates    map[int]heldRate
}

// heldRate is what became of a rate that was asked for.
type heldRate struct {
	runner.WriteRate
	err error
}

// HoldDisk makes ready to hold the disk to rates of writes a second, of which 0 is the disk as it is, and measures
// each. What cannot be done is an error of Hold and Rate. Close of the lab ends it.
func (l *Lab) HoldDisk(ctx context.Context, rates []int) error {
	d := &HeldDisk{host: l.Host, rates: map[int]heldRate{}}
	l.Held = d
	if slices.Max(rates) > 0 {
		d.throttle, d.err = runner.NewWriteThrottle(l.Host, l.Dir)
	}
	own, err := runner.MeasureWriteRate(ctx, l.Dir)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.rates[0] = heldRate{own, err}
	for _, rate := range rates {
		if rate == 0 || d.err != nil {
			continue
		}
		if d.rates[rate], err = d.measure(ctx, l, rate); err != nil {
			return err
		}
	}
	return nil
}

// measure holds a child to a rate, and measures it. An error is one that ends all.
func (d *HeldDisk) measure(ctx context.Context, l *Lab, rate int) (r heldRate, err error) {
	own := d.rates[0]
	for range rateTries {
		r.err = d.throttle.HoldWrites(rate)
		if r.err == nil {
			r.WriteRate, r.err = l.heldWriteRate(ctx, d.throttle)
		}
		if err := errors.Join(ctx.Err(), d.throttle.HoldWrites(0)); err != nil {
			return r, err
		}
		if r.told(rate) {
			return r, nil
		}
	}
	why := "the throttle of this kernel does not hold them"
	if own.err == nil && own.Plain < (1+rateOff)*float64(rate) {
		why = fmt.Sprintf("the disk itself makes no more than %s", runner.PerSecond.Format(own.Plain))
	}
	r.err = fmt.Errorf("%w: held to %d writes a second, %.0f were made: %s\nhint: --disk-writes none", runner.ErrUnavailable, rate, r.Plain, why)
	return r, nil
}

// told says that there is no need to measure again: it failed, or is the rate that was asked for.
func (r heldRate) told(rate int) bool {
	return r.err != nil || math.Abs(r.Plain/float64(rate)-1) <= rateOff
}

// Rate is what was measured with the disk held to a rate, ErrUnavailable if it cannot be held to that.
func (d *HeldDisk) Rate(rate int) (runner.WriteRate, error) {
	if d.err != nil && rate > 0 {
		return runner.WriteRate{}, d.err
	}
	r, known := d.rates[rate]
	if !known {
		return r.WriteRate, fmt.Errorf("%w: %d writes a second were not measured", runner.ErrUnavailable, rate)
	}
	return r.WriteRate, r.err
}

// Add has a process, and all that it has begun, write to the disk as it is held. It does nothing where the disk
// cannot be held back.
func (d *HeldDisk) Add(pid int) error {
	if d == nil || d.throttle == nil {
		return nil
	}
	return d.throttle.AddTree(d.host, pid)
}

// Hold calls work with the disk held to a rate. Those who are to be held back are named: it is an error if one is not.
func (d *HeldDisk) Hold(rate int, work func() error, pids ...int) error {
	if _, err := d.Rate(rate); err != nil {
		return err
	}
	if d.throttle == nil {
		return work()
	}
	for _, pid := range pids {
		held, err := d.throttle.Counts(pid)
		if err != nil {
			return err
		}
		if !held {
			return fmt.Errorf("hold writes to %d a second: process %d is not held back", rate, pid)
		}
	}
	if err := d.throttle.HoldWrites(rate); err != nil {
		return err
	}
	return errors.Join(work(), d.throttle.HoldWrites(0))
}

// close lets go of it. It may be nil, and called more than once.
func (d *HeldDisk) close() error {
	if d == nil {
		return nil
	}
	return d.throttle.Remove()
}
