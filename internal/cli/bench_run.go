package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario"
)

// benchTask is a scenario that is to be measured.
type benchTask struct {
	scenario runner.Scenario
	again    string // the command that repeats it
	refused  error  // why it cannot even be begun
}

// tasks makes the scenarios. One that cannot be begun is an error; among all there are, it is
// told as one that failed, and one that is left without a row is passed over.
func (o *benchOptions) tasks(a *app, lab *lab.Lab, kinds []scenario.Kind, all bool) ([]benchTask, error) {
	var tasks []benchTask
	for _, k := range kinds {
		lab.Options.Flags = o.typed(k) // those that the scenario takes
		t := benchTask{scenario: k.Make(lab), again: o.again(k)}
		if len(t.scenario.Cases) == 0 {
			if !all {
				return nil, usageError{fmt.Errorf("run scenario %s: --place and --volume leave no row of it\nhint: ramaria bench %s", k.Name, k.Name)}
			}
			a.say("--place and --volume leave no row of: %s", k.Name)
			continue
		}
		if t.refused = lab.Room(t.scenario, k.Takes(scenario.FlagScale)); t.refused != nil && !all {
			return nil, t.refused
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// measuring runs tasks one after the other.
type measuring struct {
	app     *app
	options *benchOptions
	out     *benchWriter
	machine runner.Machine
	// begin is called before each scenario; an error refuses it.
	begin func(context.Context, runner.Scenario) error
	all   bool // scenarios, so that one that fails does not end the others
}

func (m *measuring) run(ctx context.Context, tasks []benchTask) error {
	var failed []string
	for i, t := range tasks {
		name := t.scenario.Name
		if len(tasks) > 1 {
			name = fmt.Sprintf("%d/%d %s", i+1, len(tasks), name)
		}
		err, written := m.one(ctx, t, name)
		if written != nil {
			return errors.Join(err, written)
		}
		if err == nil {
			continue
		}
		if !m.all || ctx.Err() != nil {
			return err
		}
		m.app.say("ramaria: %v", err)
		failed = append(failed, t.scenario.Name)
	}
	if failed != nil {
		return fmt.Errorf("measure: %d of %d scenarios failed: %s", len(failed), len(tasks), strings.Join(failed, ", "))
	}
	return nil
}

// one measures a scenario and writes what there is to tell of it.
func (m *measuring) one(ctx context.Context, t benchTask, name string) (failed, written error) {
	var result runner.Result
	began := time.Now().UTC().Truncate(time.Second)
	if t.refused == nil {
		err := m.begin(ctx, t.scenario)
		if ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx)), nil // interrupted: there is nothing to tell of it
		}
		t.refused = err
	}
	if t.refused != nil {
		result, failed = runner.Refused(t.scenario, t.refused), t.refused
	} else {
		r := runner.Runner{Rounds: m.options.rounds, MaxTime: m.options.time, Whole: !m.options.bounded, Progress: m.app.progress(name)}
		result, failed = r.Run(ctx, t.scenario)
	}
	result.Machine, result.Command, result.Ramaria, result.Time = m.machine, t.again, version, began
	if failed == nil || result.Measured() || result.Failed != "" {
		written = m.out.result(result)
	}
	return failed, written
}

// progress returns a bar that a Runner drives, or nil without a terminal.
func (a *app) progress(name string) func(done, total int, row string) {
	if !a.terminal {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int, row string) {
		total = max(total, 1)
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish())
		}
		if total != bar.GetMax() { // rows that are not available have no rounds
			bar.ChangeMax(total)
		}
		bar.Describe(name + ": " + row)
		// A bar that cannot be drawn does no harm.
		_ = bar.Set(done)
		if done >= total {
			_ = bar.Finish()
		}
	}
}
