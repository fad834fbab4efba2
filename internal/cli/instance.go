package cli

import (
	"context"
	"os"

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

// at says which instance is meant by a command about databases; add makes it.
type at struct {
	name string
	// given says whether it is named, if only by an empty name, and former whether by --in.
	given, former func() bool
}

func (o *at) add(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.name, "instance", "i", "", "`NAME` of the instance (default: the one of "+client.EnvVar+", or main)")
	cmd.Flags().StringVar(&o.name, "in", "", "deprecated: the same as --instance `NAME`")
	o.former = func() bool { return cmd.Flags().Changed("in") }
	o.given = func() bool { return o.former() || cmd.Flags().Changed("instance") }
	for _, flag := range []string{"instance", "in"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, a.completeOneName)
	}
}

// client returns a client of the instance, which must run.
func (o *at) client(a *app) (*client.Client, error) {
	var args []string
	if o.former() {
		a.renamed("--in", "-i")
	}
	switch {
	case o.given():
		args = []string{o.name}
	case os.Getenv(client.EnvVar) != "":
		return client.FromEnv()
	}
	i, err := a.engine.Running(nameArg(args))
	if err != nil {
		return nil, err
	}
	return client.New(i.APISocket()), nil
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
