package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// ErrNoUpgrader says that a server came without the program that upgrades the system
// tables of an older one.
var ErrNoUpgrader = errors.New("it came without the program that upgrades system tables")

// upgrader is the program of a flavour that upgrades what an older server wrote, and
// those that it calls, which it looks for beside itself.
type upgrader struct {
	name  string
	calls []string
}

// Upgrade brings the system tables up to this version of the server, and has all tables
// checked, by the program that the server's makers have for that. The server runs, and e
// is an account with every right. work is a directory that account may enter, and owns
// tmp in it; the program runs under account, since it writes into the data directory.
// A server that upgrades by itself has done so when it runs.
func (s *Server) Upgrade(ctx context.Context, work, tmp string, e dbconn.Endpoint, account Account) error {
	u := s.Family().upgrader
	if u.name == "" {
		return nil
	}
	if len(s.Client.Argv) == 0 || !Executable(s.beside(u.name)) {
		return ErrNoUpgrader
	}
	config := filepath.Join(work, "upgrade.cnf")
	if err := WritePrivate(config, []byte(e.ClientConfig()), account); err != nil {
		return err
	}
	defer os.Remove(config)
	argv := []string{s.beside(u.name)}
	if loader := s.Client.Argv[:len(s.Client.Argv)-1]; len(loader) > 0 {
		// Not in the volume, from which no program runs: beside the server's own programs, which the
		// account reaches.
		dir, err := os.MkdirTemp(s.Dir, ".upgrade-")
		if err != nil {
			return fmt.Errorf("upgrade system tables: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := s.wrap(dir, u.calls); err != nil {
			return fmt.Errorf("upgrade system tables: %w", err)
		}
		// It takes its own name for the place where the others are: ld.so(8), --argv0.
		argv = append([]string{loader[0], "--argv0", filepath.Join(dir, u.name)}, append(loader[1:len(loader):len(loader)], argv...)...)
	}
	argv = append(argv, "--defaults-file="+config, "--skip-write-binlog")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + tmp}, s.Client.Env...)
	cmd.Dir = tmp
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if account != (Account{}) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(account.UID), Gid: uint32(account.GID)}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%s: %w\n%s", u.name, err, strings.Join(lines[max(0, len(lines)-6):], "\n"))
	}
	return nil
}

// beside is the path of another program of the client's package.
func (s *Server) beside(name string) string {
	return filepath.Join(filepath.Dir(s.Client.Path()), name)
}

// wrap makes scripts in the directory dir that run programs through the server's own loader.
func (s *Server) wrap(dir string, names []string) error {
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:forbidigo // made just now; #nosec G302 -- the account passes through
		return err
	}
	loader := s.Client.Argv[:len(s.Client.Argv)-1]
	for _, name := range names {
		var line strings.Builder
		for _, arg := range append(loader[:len(loader):len(loader)], s.beside(name)) {
			line.WriteString(" '" + strings.ReplaceAll(arg, "'", `'\''`) + "'")
		}
		path := filepath.Join(dir, name)
		// #nosec G306 -- the account has to run it
		if err := errors.Join(os.WriteFile(path, []byte("#!/bin/sh\nexec"+line.String()+" \"$@\"\n"), 0o755), os.Chmod(path, 0o755)); err != nil { //nolint:forbidigo // made just now, in a directory of ours
			return err
		}
	}
	return nil
}
