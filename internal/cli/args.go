package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// maxArgs refuses more than n arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("%s: unexpected %q\nhint: %s --help", cmd.CommandPath(), args[n], cmd.CommandPath())}
		}
		return nil
	}
}

// exactArgs wants n arguments, called what.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s: it takes %s\nhint: %s --help", cmd.CommandPath(), what, cmd.CommandPath())}
		}
		return nil
	}
}

// minArgs wants n arguments at least, called what.
func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return exactArgs(n, what)(cmd, args)
		}
		return nil
	}
}

// oneOrTwoArgs wants one argument or two, called what.
func oneOrTwoArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 || len(args) == 2 {
			return nil
		}
		return exactArgs(2, what)(cmd, args)
	}
}

// onlyOthers makes a command that only holds others print its help, and refuse
// names that are none of theirs.
func onlyOthers(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := cmd.CommandPath() + " --help"
		cmd.SuggestionsMinimumDistance = 2 // letters
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			hint = cmd.CommandPath() + " " + like[0]
		}
		return usageError{fmt.Errorf("there is no command %q\nhint: %s", cmd.CommandPath()+" "+args[0], hint)}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// nameArg returns the instance that is meant.
func nameArg(args []string) string {
	if len(args) == 0 {
		return instance.DefaultName
	}
	return args[0]
}

// completeNames completes the names of instances in a shell.
func (a *app) completeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	records, err := a.registry.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(records))
	for i, r := range records {
		names[i] = r.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
