package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

func newBenchReport(a *app) *cobra.Command {
	var o benchOutput
	cmd := &cobra.Command{
		Use:   "report RESULTS.jsonl...",
		Short: "Make a report of saved results",
		Long:  `Make a report of saved results, of one run or several, without measuring. - is stdin.`,
		Example: `  ramaria bench report results.jsonl --report out.html
  ramaria bench report monday.jsonl tuesday.jsonl --format md`,
		Args: minArgs("files of results"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBenchReport(cmd.Context(), a, args, o)
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

func runBenchReport(ctx context.Context, a *app, names []string, o benchOutput) error {
	if err := checkFormat(o.format, formatCSV); err != nil {
		return usageError{err}
	}
	var all []runner.Result
	for _, name := range names {
		results, err := a.readResults(ctx, name)
		if err != nil {
			return err
		}
		all = append(all, results...)
	}
	w, err := o.open(a)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := w.result(r); err != nil {
			return errors.Join(err, w.close())
		}
	}
	return w.end()
}
