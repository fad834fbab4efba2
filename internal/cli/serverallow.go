package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
)

func newServerAllow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "allow",
		Short: "Let the distribution's own servers reach instances, where AppArmor or SELinux keeps them out",
		Long: `Let the distribution's own servers reach instances, where a security profile keeps them out: adds
rules to the file in /etc/apparmor.d/local/ that an AppArmor profile includes, or a module to the
policy of SELinux, and loads them. Without that, ramaria uses a copy of the server that no profile
confines. Either way Landlock keeps each server to
its own files. Root only; ramaria server disallow takes the rules away.`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServerAllow(cmd.Context(), a, a.engine.AllowServers, "may reach the instances of ramaria", "may do so already")
		},
	}
}

func newServerDisallow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "disallow",
		Short: "Take away what ramaria server allow has added",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServerAllow(cmd.Context(), a, a.engine.DisallowServers, "is confined as before", "was not allowed anything")
		},
	}
}

func runServerAllow(ctx context.Context, a *app, do func(context.Context) ([]engine.ServerAllowed, error), done, nothing string) error {
	list, err := do(ctx)
	for _, s := range list {
		if s.Changed {
			a.say("%s %s (%s, %s)", s.Daemon, done, s.Profile, s.File)
		} else {
			a.say("%s %s (%s)", s.Daemon, nothing, s.Profile)
		}
	}
	if err == nil && len(list) == 0 {
		a.say("no profile confines a server of this system")
	}
	return err
}
