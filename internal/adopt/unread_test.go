package adopt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestUnread: option files are found that root may read and the account of a server may not, also those that others include.
func TestUnread(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: files that only root reads")
	}
	dir, err := os.MkdirTemp("/tmp", "ramaria-adopt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	more := filepath.Join(dir, "conf.d")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(more, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"my.cnf":          {"[mysqld]\n!includedir\t" + more + "\n!include " + filepath.Join(dir, "my.cnf") + "\n!include " + filepath.Join(dir, "pipe") + "\n!include \t" + filepath.Join(dir, "a b.cnf") + "\n", 0o644},
		"a b.cnf":         {"", 0o600},
		"conf.d/open.cnf": {"[mysqld]\n", 0o644}, "conf.d/shut.cnf": {"[mysqld]\nmax_connections=7\n", 0o600}, "conf.d/shut.txt": {"", 0o600},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(f.text), f.mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil { // which nobody writes to
		t.Fatal(err)
	}
	list := unread(server.Account{UID: 65534, GID: 65534}, []string{filepath.Join(dir, "my.cnf"), filepath.Join(dir, "none.cnf")}, 1)
	if got := strings.Join(list, " "); got != filepath.Join(more, "shut.cnf")+" "+filepath.Join(dir, "a b.cnf") {
		t.Errorf("got %q", got)
	}
	if list := unread(server.Account{}, []string{filepath.Join(dir, "my.cnf")}, 1); len(list) > 0 {
		t.Errorf("root may not read %q", list)
	}
}
