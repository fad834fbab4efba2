package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/fixture"
)

// dumpRows is the size of the dump that is loaded: about 6.6 MB.
const dumpRows = 100_000

// inHome calls f with a shell in a directory that has shop.sql, and with a home of its own.
// It removes both, and what runs there.
func inHome(ctx context.Context, o options, f func(shell) error) (err error) {
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Servers that root starts run under an account of their own, which must get here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := writeDump(filepath.Join(dir, "shop.sql")); err != nil {
		return err
	}
	home := filepath.Join(dir, "home")
	if err := linkServers(home, o.servers); err != nil {
		return err
	}
	sh := shell{dir: dir, env: append(os.Environ(), "RAMARIA_HOME="+home, "PATH="+filepath.Dir(o.ramaria)+":"+os.Getenv("PATH"))}
	defer func() { err = errors.Join(err, sh.clean(context.WithoutCancel(ctx))) }()
	return f(sh)
}

// linkServers makes the servers that were fetched for another home known to this one.
func linkServers(home, servers string) error {
	if servers == "" {
		return nil
	}
	cache := filepath.Join(home, "cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("link servers: %w", err)
	}
	if err := os.Symlink(servers, filepath.Join(cache, "servers")); err != nil {
		return fmt.Errorf("link servers: %w", err)
	}
	return nil
}

func writeDump(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make dump: %w", err)
	}
	err = fixture.Shop{Rows: dumpRows}.WriteDump(f, fixture.Extended)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make dump: %w", err)
	}
	return nil
}

// A shell runs commands in a directory.
type shell struct {
	dir string
	env []string
}

// command returns a command that is to be run.
func (s shell) command(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// run runs a command, and returns what it printed.
func (s shell) run(ctx context.Context, command string) (string, error) {
	out, err := s.command(ctx, command).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s: %w\n%s", command, err, out)
	}
	return string(out), nil
}

// clean removes what a session leaves: the image in RAM, and the volume with it.
func (s shell) clean(ctx context.Context) error {
	for _, command := range []string{"ramaria down --all --rm", "ramaria volume ls | awk 'NR > 1 { print $1 }' | xargs -r -n 1 ramaria volume rm"} {
		if _, err := s.run(ctx, command); err != nil {
			return err
		}
	}
	return nil
}
