package scenario

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
)

// shellClient is the server's own client program as shell scripts call it: a process for
// each call, the account in an option file.
type shellClient struct {
	program server.Program
	config  string
}

// shellClient writes the option file of an endpoint and returns its client.
func (l *Lab) shellClient(e server.Endpoint, config string) (shellClient, error) {
	return shellClient{l.Server.Client, config}, server.WritePrivate(config, []byte(e.ClientConfig()), server.Account{})
}

// file sends the statements of a file to a database, "" for none.
func (c shellClient) file(ctx context.Context, database, path string) error {
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

// execute has statements carried out that the command line may show.
func (c shellClient) execute(ctx context.Context, statements string) error {
	return c.run(ctx, nil, "--execute="+statements)
}

func (c shellClient) run(ctx context.Context, stdin *os.File, args ...string) error {
	argv := append(append([]string{}, c.program.Argv...), "--defaults-file="+c.config)
	argv = append(argv, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = c.program.Environ(os.Environ())
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
