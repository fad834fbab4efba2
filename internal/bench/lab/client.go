package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ShellClient is the server's own client program as shell scripts call it: a process for
// each call, the account in an option file.
type ShellClient struct {
	Program server.Program
	Config  string
}

// ShellClient writes the option file of an endpoint and returns its client.
func (l *Lab) ShellClient(e dbconn.Endpoint, config string) (ShellClient, error) {
	return ShellClient{l.Server.Client, config}, server.WritePrivate(config, []byte(e.ClientConfig()), server.Account{})
}

// File sends the statements of a file to a database, "" for none.
func (c ShellClient) File(ctx context.Context, database, path string) error {
	text, err := os.Open(path)
	if err != nil {
		return err
	}
	defer text.Close()
	if database == "" {
		return c.run(ctx, text)
	}
	return c.run(ctx, text, "--database="+database)
}

// Execute runs statements that the command line may show.
func (c ShellClient) Execute(ctx context.Context, statements string) error {
	return c.run(ctx, nil, "--execute="+statements)
}

func (c ShellClient) run(ctx context.Context, stdin *os.File, args ...string) error {
	argv := append(append([]string{}, c.Program.Argv...), "--defaults-file="+c.Config)
	argv = append(argv, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = c.Program.Environ(os.Environ())
	// Ctrl-C at the terminal is for this process, which then ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if stdin != nil { // a nil file in the interface would not be none
		cmd.Stdin = stdin
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("client: %w: %.500s", err, out)
	}
	return nil
}
