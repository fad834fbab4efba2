package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
)

// named lets the instance of a command whose first argument is its NAME be given by
// -i NAME as well, as commands about what lies in an instance have it.
func (a *app) named(cmd *cobra.Command) *cobra.Command {
	var name string
	cmd.Flags().StringVarP(&name, "instance", "i", "", "`NAME` of the instance, in place of the first argument")
	_ = cmd.RegisterFlagCompletionFunc("instance", a.completeOneName)
	all := func(args []string) []string {
		if !cmd.Flags().Changed("instance") {
			return args
		}
		return append([]string{name}, args...)
	}
	check, run, complete := cmd.Args, cmd.RunE, cmd.ValidArgsFunction
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		return check(cmd, all(args))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, all(args)) }
	if complete != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd, all(args), word)
		}
	}
	return cmd
}

// complete completes arguments by what list finds in the instance.
func (o *at) complete(a *app, list func(context.Context, *client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if a.open(cmd) != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		c, err := o.client(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := list(cmd.Context(), c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return without(found, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// templateNames are the names of an instance's templates.
func templateNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Templates(ctx)
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names, err
}

// cloneNames are the names of an instance's clones.
func cloneNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Databases(ctx)
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names, err
}

// templateArg completes the one argument of a command about a template.
func (o *at) templateArg(a *app) cobra.CompletionFunc {
	complete := o.complete(a, templateNames)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, word)
	}
}
