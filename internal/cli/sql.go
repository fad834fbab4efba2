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
	var execute []string
	cmd := &cobra.Command{
		Use:   "sql [NAME] [-e STATEMENT]",
		Short: "Open the server's own client on an instance",
		Long:  "Open the server's own client on an instance.\n\n" + whichOne,
		Example: `  ramaria sql
  ramaria sql shop -e 'SELECT COUNT(*) FROM orders'
  ramaria sql shop < more.sql`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSQL(cmd.Context(), a, args[0], execute)
		},
	}
	cmd.Flags().StringArrayVarP(&execute, "execute", "e", nil, "run `STATEMENT` and exit; repeatable")
	return a.optional(cmd)
}

// runSQL becomes the client, so that the terminal, signals and the exit status
// are the client's own.
func runSQL(ctx context.Context, a *app, name string, execute []string) error {
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
	if len(execute) > 0 {
		// The client would put several together without a delimiter.
		argv = append(argv, "--execute="+strings.Join(execute, ";\n"))
	}
	if err := syscall.Exec(argv[0], argv, i.Server.Client.Environ(os.Environ())); err != nil {
		return fmt.Errorf("start client %s: %w", argv[0], err)
	}
	return nil
}
