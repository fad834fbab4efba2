package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newEnv(a *app) *cobra.Command {
	format := envFormats[0].name
	cmd := &cobra.Command{
		Use:   "env [NAME]",
		Short: "Print the variables by which programs find an instance, for eval",
		Long: `Print the variables by which programs find an instance, for eval. The servers' own
clients (mysql, mariadb, mysqldump, ...) take account and socket from them too.

--format writes them for others: dotenv for a file .env, json with all there is to know; or one line
that a program takes as it is: jdbc, rails (DATABASE_URL for mysql2), go (go-sql-driver), dotnet.
remote is for clients on other machines, of an instance that up --api-listen has opened to them.

` + whichOne,
		Example: `  eval "$(ramaria env)"; mysql -e 'SELECT 1'
  ramaria env --format dotenv > .env`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return runEnv(a, args[0], format)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "how: `"+strings.Join(envFormatNames(), "|")+"`")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(envFormatNames(), cobra.ShellCompDirectiveNoFileComp))
	return a.optional(cmd)
}

func runEnv(a *app, name, format string) error {
	f, err := envFormatOf(format)
	if err != nil {
		return err
	}
	i, err := a.engine.Running(name)
	if err != nil {
		return err
	}
	a.warnOwnOptions()
	text, err := f.write(i)
	fmt.Fprint(a.stdout, text)
	return err
}
