package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/durable"
)

// parseDiskWrites reads --disk-writes: rates, 0 for none.
func parseDiskWrites(texts []string) ([]int, error) {
	var rates []int
	for _, text := range texts {
		if text == durable.NoLimit {
			rates = append(rates, 0)
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < runner.MinRate || n > runner.MaxWrites {
			return nil, fmt.Errorf("use --disk-writes %q: it must be %s, or a number between %d and %d\nhint: --disk-writes 500,3000,%[2]s", text, durable.NoLimit, runner.MinRate, runner.MaxWrites)
		}
		rates = append(rates, n)
	}
	return lab.Unique(rates), nil
}

// holdDisk makes ready for --disk-writes, and says of each rate what the disk makes then, or why it cannot be held
// to it: nothing is measured under that name. That it can be held to none of them is an error, unless there is more to
// measure.
func (o *benchOptions) holdDisk(ctx context.Context, a *app, l *lab.Lab, all bool) error {
	rates := o.options.DiskWrites
	if len(rates) == 0 {
		return nil
	}
	if err := l.HoldDisk(ctx, rates); err != nil {
		return err
	}
	var refused error
	held := 0
	for _, rate := range rates {
		name := "as it is"
		if rate > 0 {
			name = fmt.Sprintf("held to %d writes a second", rate)
		}
		made, err := l.Held.Rate(rate)
		if err != nil {
			refused = err
			a.say("SKIPPED: the disk %s: %v", name, err)
			continue
		}
		held++
		a.say("the disk %s makes %.0f of 4 KiB a second, %.0f synchronous", name, made.Plain, made.Synced)
	}
	if held == 0 && !all {
		return fmt.Errorf("measure with --disk-writes %s: nothing can be measured: %w", strings.Join(o.writes, ","), refused)
	}
	return nil
}
