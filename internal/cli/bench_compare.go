package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/engine"
)

type benchCompareOptions struct {
	format    string
	failWorse bool
}

func newBenchCompare(a *app) *cobra.Command {
	var o benchCompareOptions
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Show what changed between two runs, and what is noise",
		Long: `Show what changed between two runs of ramaria bench, and what is noise. A and B are raw
results; one of them may be - for stdin. Rows are matched by scenario and name. Where a file
has several runs of a scenario, their rounds count together.

A row is better or worse if the Mann-Whitney U test tells the rounds of A and B apart (p below
0.05), the 95 % interval of the ratio does not contain 1, and the medians differ by at least
2 %. Everything else is noise. Ten rounds a side tell much, three tell nothing. Of many rows
a few seem changed by chance: the last line says how many; measure those again.

The exit status is 0 whatever changed; with --fail-worse it is 1 if a row is worse, or if no row
could be compared.`,
		Example: `  ramaria bench cycle --save before.json
  ramaria bench cycle --format json | ramaria bench compare before.json -
  ramaria bench compare before.json after.json --fail-worse`,
		Args: exactArgs(2, "two files of results, one of which may be - for stdin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBenchCompare(cmd.Context(), a, args[0], args[1], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", formatTable, "table, json (lines) or md")
	f.BoolVar(&o.failWorse, "fail-worse", false, "exit with 1 if a row is worse beyond noise")
	return cmd
}

func runBenchCompare(ctx context.Context, a *app, nameA, nameB string, o benchCompareOptions) error {
	if nameA == "-" && nameB == "-" {
		return usageError{errors.New("compare - with -: only one of them can be stdin\nhint: ramaria bench compare A.json -")}
	}
	if err := checkFormat(o.format); err != nil {
		return usageError{err}
	}
	resultsA, err := a.readResults(ctx, nameA)
	if err != nil {
		return err
	}
	resultsB, err := a.readResults(ctx, nameB)
	if err != nil {
		return err
	}
	list := runner.Compare(resultsA, resultsB)
	switch o.format {
	case formatJSON:
		err = runner.WriteComparisonJSON(a.stdout, list)
	case formatMarkdown:
		err = runner.WriteComparisonMarkdown(a.stdout, list)
	default:
		f, ok := a.stdout.w.(*os.File)
		err = runner.WriteComparison(a.stdout, list, runner.TableOptions{Color: ok && term.IsTerminal(int(f.Fd()))})
	}
	if err != nil || !o.failWorse {
		return err
	}
	tally := runner.TallyOf(list)
	if tally.Judged == 0 {
		// A job that looks for changes for the worse must not pass because it saw nothing.
		return fmt.Errorf("compare %s with %s: no row could be compared\nhint: both need the same scenarios of the same size, and at least 4 rounds", nameA, nameB)
	}
	if tally.Worse > 0 {
		return statusError(exitError)
	}
	return nil
}

// readResults reads a file of raw results; - is stdin.
func (a *app) readResults(ctx context.Context, name string) ([]runner.Result, error) {
	r := a.stdin
	if name == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read results %s: no such file\nhint: ramaria bench --save %s writes it", name, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		defer f.Close()
		r = f
	}
	results, err := runner.ReadJSON(engine.Interruptible(ctx, r))
	if ctx.Err() != nil {
		return nil, fmt.Errorf("read results %s: interrupted: %w", name, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("read results %s: %w", name, err)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("read results %s: there are none\nhint: ramaria bench --format json writes them", name)
	}
	return results, nil
}
