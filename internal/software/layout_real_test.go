package software_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestRealLayouts lays a real server out as packages do, and starts it from there, kept to its own
// files: the jar's, which needs no loader of its own.
func TestRealLayouts(t *testing.T) {
	jar := servertest.Find(t, "mariadb:11.4.5")
	for name, c := range map[string]struct {
		path, daemon, client, share, plugins string
	}{
		"tarball":  {path: "opt/mariadb/bin/mariadbd", daemon: "opt/mariadb/bin/mariadbd", client: "opt/mariadb/bin/mariadb", share: "opt/mariadb/share", plugins: "opt/mariadb/lib/plugin"},
		"rpm":      {path: "usr/sbin/mysqld", daemon: "usr/sbin/mariadbd", client: "usr/bin/mariadb", share: "usr/share/mariadb", plugins: "usr/lib64/mysql/plugin"},
		"homebrew": {path: "bin/mariadbd", daemon: "Cellar/mariadb/11.4.5/bin/mariadbd", client: "Cellar/mariadb/11.4.5/bin/mariadb", share: "Cellar/mariadb/11.4.5/share/mysql", plugins: "Cellar/mariadb/11.4.5/lib/plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := os.MkdirTemp("", "rl-") // above t.TempDir is one that the server's account cannot enter
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(root) })
			in := func(p string) string { return filepath.Join(root, p) }
			err = errors.Join(os.Chmod(root, 0o755), os.MkdirAll(in(c.plugins), 0o755), os.CopyFS(in(c.share), os.DirFS(jar.Share)))
			for from, to := range map[string]string{jar.Daemon.Path(): in(c.daemon), jar.Client.Path(): in(c.client), in(c.daemon): in(c.path)} {
				if from == to {
					continue
				}
				err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755))
				if from == in(c.daemon) {
					err = errors.Join(err, os.Symlink(from, to))
					continue
				}
				b, readErr := os.ReadFile(from)
				err = errors.Join(err, readErr, os.WriteFile(to, b, 0o755))
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := servertest.Finder(t).Find(t.Context(), in(c.path))
			if err != nil {
				t.Fatal(err)
			}
			r := servertest.Start(t, s)
			out, err := exec.Command(r.Mysql[0], append(r.Mysql[1:], "-N", "-e", "SELECT @@plugin_dir; SELECT @@lc_messages_dir")...).CombinedOutput()
			lines := strings.Fields(string(out))
			if err != nil || len(lines) != 2 || filepath.Clean(lines[0]) != in(c.plugins) || filepath.Clean(lines[1]) != in(c.share) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
