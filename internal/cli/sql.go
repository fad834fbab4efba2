package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/sys"
)

func newSQL(a *app) *cobra.Command {
	var execute, client []string
	cmd := &cobra.Command{
		Use:   "sql [NAME] [-e STATEMENT] [-- ARG...]",
		Short: "Open the server's own client on an instance",
		Long:  "Open the server's own client on an instance. What stands behind -- are arguments of the client.\n\n" + whichOne,
		Example: `  ramaria sql
  ramaria sql shop -e 'SELECT COUNT(*) FROM orders'
  ramaria sql shop -- -N -B -e 'SELECT id FROM orders'
  ramaria sql shop < more.sql`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSQL(cmd.Context(), a, args[0], execute, client)
		},
	}
	cmd.Flags().StringArrayVarP(&execute, "execute", "e", nil, "run `STATEMENT` and exit; repeatable")
	a.optional(cmd)
	check, run := cmd.Args, cmd.RunE
	split := func(cmd *cobra.Command, args []string) []string {
		n := cmd.ArgsLenAtDash()
		if n < 0 {
			return args
		}
		client = args[n:]
		return args[:n]
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return check(cmd, split(cmd, args)) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, split(cmd, args)) }
	return cmd
}

// runSQL becomes the client, so that the terminal, signals and the exit status
// are the client's own.
func runSQL(ctx context.Context, a *app, name string, execute, client []string) error {
	i, err := a.engine.Running(name)
	if err != nil {
		return err
	}
	if len(i.Server.Client.Argv) == 0 {
		return fmt.Errorf("open client: %w; or use any client with $(ramaria env)", i.Server.NoClient())
	}
	if gone := i.Server.Client.Missing(); gone != "" {
		if i.Server, err = a.engine.ReplacementServer(ctx, i); err != nil {
			return fmt.Errorf("open client: %s no longer exists: %w", gone, err)
		}
	}
	config, err := sys.MemFile("client.cnf", []byte(i.Endpoint.ClientConfig()))
	if err != nil {
		return err
	}
	defer config.Close() // after an error; else the client has it
	a.inherited.Release()
	argv := append(append([]string{}, i.Server.Client.Argv...), fmt.Sprintf("--defaults-file=/proc/self/fd/%d", config.Fd()), "--default-character-set=utf8mb4", "--database="+i.Endpoint.Database)
	argv = append(argv, client...)
	if len(execute) > 0 {
		// The client would put several together without a delimiter.
		argv = append(argv, "--execute="+strings.Join(execute, ";\n"))
	}
	if err := syscall.Exec(argv[0], argv, i.Server.Client.Environ(os.Environ())); err != nil {
		return fmt.Errorf("start client %s: %w", argv[0], err)
	}
	return nil
}
