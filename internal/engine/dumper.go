package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// everything are the arguments by which a dumper writes all that is the user's, as it was at one moment, and where the log
// goes on behind that.
func everything(of *server.Server) []string {
	return append([]string{
		"--single-transaction", "--quick", "--routines", "--events", "--triggers", "--hex-blob", "--default-character-set=utf8mb4", "--max-allowed-packet=1G", "--no-tablespaces",
	}, of.DumperPosition()...)
}

// runDumper has the dumper of a server write, and take read it. config is an option file with a password, what is what is
// dumped, for errors.
func runDumper(ctx context.Context, of *server.Server, what, config string, args []string, take func(io.Reader) error) error {
	if len(of.Dumper.Argv) == 0 {
		return fmt.Errorf("dump %s: %s comes without its dumper\nhint: ramaria servers fetch %s:%s", what, of.Name(), of.Flavour, of.Version.Series())
	}
	dir, err := os.MkdirTemp("", "ramaria-dump-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "my.cnf")
	if err := server.WritePrivate(file, []byte(config), server.Account{}); err != nil {
		return err
	}
	argv := append(append(append([]string{}, of.Dumper.Argv...), "--defaults-file="+file), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- a server's own
	cmd.Env = append([]string{"LC_ALL=C"}, of.Dumper.Env...)
	var says strings.Builder
	cmd.Stderr = &says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	terr := take(out)
	if terr != nil {
		_ = cmd.Cancel() // it may have ended
	}
	err = cmd.Wait()
	switch {
	case terr != nil && ctx.Err() == nil:
		return terr
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("dump %s: %w: %s", what, err, strings.TrimSpace(says.String()))
	}
	return nil
}
