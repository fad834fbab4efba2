package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// bootstrapFiles are the SQL files below Share that make a data directory, in
// order: what mariadb-install-db runs, without the help texts.
var bootstrapFiles = map[Flavour][]string{
	MariaDB: {
		"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql",
		"maria_add_gis_sp_bootstrap.sql", "mysql_sys_schema.sql",
	},
}

// bootstrapHead makes root@localhost an account without a password that only the
// operating system's root can use, over the socket.
const bootstrapHead = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket='root';\n"

// Bootstrap makes the system tables in the empty data directory that the option
// file at config (stage Bootstrap) names. What the server says goes to logPath.
func (s *Server) Bootstrap(ctx context.Context, config, dir, logPath string, account Account) error {
	sources := []io.Reader{strings.NewReader(bootstrapHead)}
	for _, name := range bootstrapFiles[s.Flavour] {
		f, err := os.Open(filepath.Join(s.Share, name))
		if errors.Is(err, os.ErrNotExist) && name == "mysql_sys_schema.sql" {
			continue // a part of its own in some packages
		}
		if err != nil {
			return fmt.Errorf("bootstrap %s: %w\nhint: this server lacks its bootstrap files; try ramaria server fetch %s", s.Name(), err, s.Flavour)
		}
		defer f.Close()
		sources = append(sources, f, strings.NewReader("\n"))
	}
	if err := s.runOnce(ctx, config, dir, logPath, account, io.MultiReader(sources...)); err != nil {
		return fmt.Errorf("bootstrap %s: %w", s.Name(), err)
	}
	return nil
}

// Settle starts the server on the data directory that the option file at config
// (stage Bootstrap) names, and shuts it down at once: crash recovery is done, and
// the redo log has the size of the option file.
func (s *Server) Settle(ctx context.Context, config, dir, logPath string, account Account) error {
	if err := s.runOnce(ctx, config, dir, logPath, account, strings.NewReader("")); err != nil {
		return fmt.Errorf("settle data directory: %w", err)
	}
	return nil
}

// runOnce runs the daemon over the statements in stdin, without any connection.
func (s *Server) runOnce(ctx context.Context, config, dir, logPath string, account Account, stdin io.Reader) error {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	p, err := s.Start(config, account, dir, stdin, log)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return ctx.Err()
	}
	if err := p.Exit(); err != nil {
		return fmt.Errorf("%s\n%s", Cause(err), LogTail(logPath))
	}
	return nil
}
