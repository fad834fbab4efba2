package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// does is the path of a command without the program's name, which begins every error.
func does(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// maxArgs refuses more than n arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("%s: unexpected %q\nhint: %s --help", does(cmd), args[n], cmd.CommandPath())}
		}
		return nil
	}
}

// exactArgs wants n arguments, called what.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s: expected %s\nhint: %s --help", does(cmd), what, cmd.CommandPath())}
		}
		return nil
	}
}

// minArgs wants one argument at least, called what.
func minArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exactArgs(1, what)(cmd, args)
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
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, append(c.Aliases, c.Name())...)
			}
		}
		if like := nearest(args[0], names); like != "" {
			hint = cmd.CommandPath() + " " + like
		}
		return usageError{fmt.Errorf("unknown command %q\nhint: %s", cmd.CommandPath()+" "+args[0], hint)}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// someOrAll wants names, or --all: what is to be done with them says verb, and list is the
// command that lists them.
func someOrAll(verb string, names []string, all bool, list string) error {
	if all == (len(names) > 0) {
		return usageError{fmt.Errorf("%s: name some, or use --all\nhint: %s", verb, list)}
	}
	return nil
}

// completeNames completes the name of an instance, the only argument, in a shell.
func (a *app) completeNames(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeManyNames(cmd, args, word)
}

// completeOneName completes the name of an instance as the value of a flag.
func (a *app) completeOneName(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return a.completeManyNames(cmd, nil, word)
}

// completeManyNames completes names of instances that are not among the arguments yet.
func (a *app) completeManyNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	records, err := a.engine.Registry.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(records))
	for i, r := range records {
		names[i] = r.Name
	}
	return without(names, args), cobra.ShellCompDirectiveNoFileComp
}

// completeMarks completes the name of an instance, then labels of its marks.
func (a *app) completeMarks(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeNames(cmd, args, word)
	}
	if a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	marks, err := a.engine.Marks(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	labels := make([]string, len(marks))
	for i, m := range marks {
		labels[i] = m.Label
	}
	return without(labels, args[1:]), cobra.ShellCompDirectiveNoFileComp
}

// completeMark completes the name of an instance and one label.
func (a *app) completeMark(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeMarks(cmd, args, word)
}

// without returns the words that are not among those given already.
func without(words, given []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(given, w) })
}
