package corpus

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// connector is what Django connects with.
const connector = "pymysql==1.1.1"

// migrateScript has Django make the tables of some apps.
//
//go:embed migrate.py
var migrateScript string

// fetchPython makes an environment of Python with a package.
func fetchPython(ctx context.Context, s source, dir string) error {
	if err := run(ctx, dir, "python3", "-m", "venv", dir); err != nil {
		return err
	}
	return run(ctx, dir, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", s.pkg+"=="+s.version, connector)
}

// migrate has Django's migrations make the tables of the apps.
func (s source) migrate(ctx context.Context, at *stand, database string) error {
	dir, err := s.fetch(ctx)
	if err != nil {
		return fmt.Errorf("fetch %s %s: %w", s.kind, s.pkg, err)
	}
	// The environment has moved since it was made: its interpreter finds it by pyvenv.cfg beside it.
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-c", migrateScript)
	cmd.Env = append(os.Environ(), "CORPUS_APPS="+strings.Join(s.apps, " "), "CORPUS_SOCKET="+at.endpoint.Socket, "CORPUS_USER="+at.endpoint.User,
		"CORPUS_PASSWORD="+at.endpoint.Password, "CORPUS_DATABASE="+database)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate %s: %w: %s", s.pkg, err, lastLines(string(out)))
	}
	return nil
}

// lastLines is the end of what a program wrote.
func lastLines(text string) string {
	const most = 600
	return text[max(0, len(text)-most):]
}
