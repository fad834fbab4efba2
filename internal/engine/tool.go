package engine

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// whole are the arguments by which a dumper writes all that databases have, as it was at one moment, and locks nothing.
func whole(of *server.Server) []string {
	args := []string{
		"--single-transaction", "--quick", "--routines", "--events", "--triggers", "--hex-blob", "--default-character-set=utf8mb4", "--max-allowed-packet=1G", "--no-tablespaces",
	}
	if beginsAsTold(of) {
		args = append(args, "--init-command="+dbconn.ToolSettings())
	}
	return args
}

// beginsAsTold reports whether the session of a dumper can be given settings, as MySQL's can from 8.2 on. All programs
// have the other option's name in the client library.
func beginsAsTold(of *server.Server) bool { return of.Dumper.Knows("init-command-add") }

// unlimited refuses a server of whose tables its dumper would write some of the rows. What else a dumper's session begins
// with may have it fail, and leaves nothing out.
func unlimited(ctx context.Context, db *sql.DB, of *server.Server, what string) error {
	if beginsAsTold(of) {
		return nil
	}
	var shortens string
	err := dbconn.Query(ctx, db, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('sql_select_limit', 'system_versioning_asof')", func(cols []string) error {
		if shortens == "" && cols[1] != whatIsWhole[cols[0]] {
			shortens = cols[0]
		}
		return nil
	})
	if err != nil || shortens == "" {
		return err
	}
	return fmt.Errorf("dump %s: %s of the server would have %s leave out rows\nhint: SET GLOBAL %[2]s = %[4]s", what, shortens, filepath.Base(of.Dumper.Path()), whatIsWhole[shortens])
}

// whatIsWhole are the values of settings with which a dumper writes all rows that there are now.
var whatIsWhole = map[string]string{"sql_select_limit": "18446744073709551615", "system_versioning_asof": "DEFAULT"}

// everything are those of whole, and that which writes where the log goes on behind that.
func everything(of *server.Server) []string { return append(whole(of), of.DumperPosition()...) }

// runDumper has the dumper of a server write, and take read it to its end. config is an option file with a password, what is
// what is dumped, for errors.
func runDumper(ctx context.Context, of *server.Server, what, config string, args []string, take func(io.Reader) error) error {
	if len(of.Dumper.Argv) == 0 {
		return fmt.Errorf("dump %s: %s comes without its dumper\nhint: ramaria server fetch %s:%s", what, of.Name(), of.Flavour, of.Version.Series())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	dumping, stop := context.WithCancel(ctx)
	defer stop()
	dumped := make(chan error, 1)
	go func() {
		dumped <- runTool(dumping, of.Dumper, args, config, nil, w)
		w.Close() // which take sees
	}()
	terr := take(r)
	ended := len(dumped) > 0 // if it failed, that is why take did
	if terr != nil {
		stop()
	}
	err = <-dumped
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case terr != nil && !ended:
		return terr
	case err != nil:
		return fmt.Errorf("dump %s: %w", what, err)
	}
	return terr
}

// runTool runs a program of a server, with config as its option file.
func runTool(ctx context.Context, tool server.Program, args []string, config string, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "ramaria-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "my.cnf")
	if err := server.WritePrivate(file, []byte(config), server.Account{}); err != nil {
		return err
	}
	argv := append(append(append([]string{}, tool.Argv...), "--defaults-file="+file), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- a server's own
	cmd.Env = append([]string{"LC_ALL=C"}, tool.Env...)
	var says strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(tool.Path()), err, strings.TrimSpace(says.String()))
	}
	return nil
}
