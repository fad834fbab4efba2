package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// bootstrapFile is one SQL file below Share that makes a data directory.
type bootstrapFile struct {
	// names are what the file is called in one version or another.
	names []string
	// optional files are left out where a package lacks them.
	optional bool
	// stock files are run for comparison with a stock server only.
	stock bool
}

// bootstrapHead makes root@localhost an account without a password that only the
// operating system's root can use, over the socket.
const bootstrapHead = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket='root';\n"

// Bootstrap makes the system tables in the empty data directory of c, which the option
// file at config was rendered from. The stage is Bootstrap, or Stock for all that a stock
// server has. What the server says goes to logPath.
func (s *Server) Bootstrap(ctx context.Context, config string, c Config, dir, logPath string, account Account) error {
	script, err := s.bootstrapScript(c.Stage)
	if err != nil {
		return fmt.Errorf("bootstrap %s: %w\nhint: this server lacks its bootstrap files; try ramaria server fetch %s", s.Name(), err, s.Flavour)
	}
	args := s.Family().initialise
	err = s.withFile(c.RunDir, account, s.Family().initialSQL, func(file []string) error {
		return s.runOnce(ctx, append(args[:len(args):len(args)], file...), config, c, dir, logPath, account, strings.NewReader(script), Synced)
	})
	if err != nil {
		return fmt.Errorf("bootstrap %s: %w", s.Name(), err)
	}
	return nil
}

// withFile calls f with the argument by which the daemon runs statements, none if there
// are none. They lie in dir meanwhile, which the daemon can reach.
func (s *Server) withFile(dir string, account Account, statements string, f func(args []string) error) (err error) {
	if statements == "" {
		return f(nil)
	}
	file := filepath.Join(dir, "statements.sql")
	if err := WritePrivate(file, []byte(statements), account); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()
	return f([]string{"--init-file=" + file})
}

// bootstrapScript puts the files together; they are less than a megabyte, and two
// more with the help texts.
func (s *Server) bootstrapScript(stage Stage) (string, error) {
	files := s.Family().bootstrap
	if len(files) == 0 {
		return "", nil // the daemon has it in itself
	}
	var script strings.Builder
	script.WriteString(bootstrapHead)
	for _, b := range files {
		if b.stock && stage != Stock {
			continue
		}
		text, err := b.read(s.Share)
		if errors.Is(err, os.ErrNotExist) && b.optional {
			continue
		}
		if err != nil {
			return "", err
		}
		script.Write(text)
		script.WriteByte('\n') // the last line of a file may lack its end
	}
	return script.String(), nil
}

// read reads the file by the first of its names that is there.
func (b bootstrapFile) read(dir string) (text []byte, err error) {
	for _, name := range b.names {
		if text, err = os.ReadFile(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return text, err
}

// Settle starts the server on the data directory of c (stage Bootstrap), which the option file
// at config was rendered from, and shuts it down at once: crash recovery is done, what an
// older server wrote is upgraded, and the redo log has the size of the option file.
func (s *Server) Settle(ctx context.Context, config string, c Config, dir, logPath string, account Account) (err error) {
	args, statements := s.Family().settle, ""
	if args == nil {
		statements = "SHUTDOWN;\n"
	}
	err = s.withFile(c.RunDir, account, statements, func(file []string) error {
		return s.runOnce(ctx, append(args[:len(args):len(args)], file...), config, c, dir, logPath, account, strings.NewReader(""), settling(c.DataDir))
	})
	if err != nil {
		return fmt.Errorf("settle data directory: %w", err)
	}
	return nil
}

// settling is how a server settles a data directory. Where MariaDB takes shared memory for persistent memory it maps a redo
// log that is too small for the filter, as the 12 KB of a prepared backup are, and waits for ever if it then cannot map the
// larger one that it makes.
func settling(dataDir string) Syncing {
	if fi, err := os.Lstat(filepath.Join(dataDir, "ib_logfile0")); err == nil && fi.Mode().IsRegular() && fi.Size() < sys.LeastRefusedMap {
		return Mapping
	}
	return Synced
}

// runOnce runs the daemon over the statements in stdin, without any connection.
func (s *Server) runOnce(ctx context.Context, args []string, config string, c Config, dir, logPath string, account Account, stdin io.Reader, syncing Syncing) error {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	p, err := s.startWith(config, c, account, dir, args, stdin, log, syncing)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, StartTimeout, fmt.Errorf("it did not end within %s", StartTimeout))
	defer cancel() // there is damage that makes a server wait for ever
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%w\n%s", context.Cause(ctx), LogTail(logPath))
	}
	if err := p.Exit(); err != nil {
		return fmt.Errorf("%s\n%s%s", Cause(err), LogTail(logPath), settingHint(logPath))
	}
	return nil
}
