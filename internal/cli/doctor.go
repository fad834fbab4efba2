package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/progress"
)

func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine allows, and what to change",
		Long:  "Show what this machine allows, and what to change. The exit status is 1 if something\nkeeps instances from running.",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	all := a.engine.Doctor(ctx)
	bad := false
	for _, f := range all {
		bad = bad || f.Level == "bad"
	}
	if asJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	} else {
		for _, f := range all {
			fmt.Fprintf(a.stdout, "%-5s %-10s %s\n", f.Level, f.Topic, progress.Plain(indent(f.Text, 17)))
			if f.Hint != "" {
				fmt.Fprintf(a.stdout, "%17s-> %s\n", "", f.Hint)
			}
		}
	}
	if bad {
		return statusError(exitError)
	}
	return nil
}
