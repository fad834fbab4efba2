package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

func newEnv(a *app) *cobra.Command {
	return a.named(&cobra.Command{
		Use:   "env [NAME]",
		Short: "Print the variables by which programs find an instance, for eval",
		Long: `Print the variables by which programs find an instance, for eval. The servers' own
clients (mysql, mariadb, mysqldump, ...) take account and socket from them too.

Without NAME: main, or under ramaria run the instance of that run.`,
		Example:           `  eval "$(ramaria env)"; mysql -e 'SELECT 1'`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(_ *cobra.Command, args []string) error {
			// A shell that was told of one instance is told of main by this, unless it runs
			// under the one that is its own.
			if r := a.told(); len(args) == 0 && r != nil && r.Passing {
				return runEnv(a, r.Name)
			}
			return runEnv(a, nameArg(args))
		},
	})
}

func runEnv(a *app, name string) error {
	i, err := a.engine.Running(name)
	if err != nil {
		return err
	}
	a.warnOwnOptions()
	for _, kv := range supervisor.Env(i) {
		k, v, _ := strings.Cut(kv, "=")
		fmt.Fprintf(a.stdout, "export %s=%s\n", k, server.ShellQuote(v))
	}
	return nil
}
