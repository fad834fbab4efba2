package software

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// percona and cluster are what other makers' daemons say.
const (
	percona    = "/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)"
	calendar   = "/usr/sbin/mysqld  Ver 26.10.0 for Linux on x86_64 (MySQL Community Server - GPL)"
	enterprise = "/usr/sbin/mariadbd  Ver 10.6.22-18-MariaDB-enterprise for Linux on x86_64 (MariaDB Enterprise Server)"
)

// TestFindInLayouts takes servers from where their makers' packages put them: what --server PATH
// is given, where the daemon lies, and its parts.
func TestFindInLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		path, real, says       string
		share, plugins, client string
		name                   string
	}{
		"mysql.com rpm":      {path: "usr/sbin/mysqld", says: calendar, share: "usr/share/mysql-26.10", plugins: "usr/lib64/mysql/plugin", client: "usr/bin/mysql", name: "mysql-26.10.0"},
		"mysql.com deb":      {path: "usr/sbin/mysqld", says: mysqlText, share: "usr/share/mysql", plugins: "usr/lib/mysql/plugin", client: "usr/bin/mysql", name: "mysql-8.0.36"},
		"mysql.com tarball":  {path: "opt/mysql-26.10.0-linux-glibc2.28-x86_64/bin/mysqld", says: calendar, share: "opt/mysql-26.10.0-linux-glibc2.28-x86_64/share", plugins: "opt/mysql-26.10.0-linux-glibc2.28-x86_64/lib/plugin", client: "opt/mysql-26.10.0-linux-glibc2.28-x86_64/bin/mysql", name: "mysql-26.10.0"},
		"debug tarball":      {path: "opt/mysql/bin/mysqld-debug", says: calendar, share: "opt/mysql/share", plugins: "opt/mysql/lib/plugin", client: "opt/mysql/bin/mysql", name: "mysql-26.10.0"},
		"percona rpm":        {path: "usr/sbin/mysqld", says: percona, share: "usr/share/percona-server", plugins: "usr/lib64/mysql/plugin", client: "usr/bin/mysql", name: "mysql-8.0.36"},
		"fedora mysql8.4":    {path: "usr/libexec/mysqld", says: "/usr/libexec/mysqld  Ver 8.4.6 for Linux on x86_64 (Source distribution)", share: "usr/share/mysql8.4", plugins: "usr/lib64/mysql/plugin", client: "usr/bin/mysql", name: "mysql-8.4.6"},
		"mariadb.org rpm":    {path: "usr/sbin/mysqld", real: "usr/sbin/mariadbd", says: strings.ReplaceAll(mariadbText, "10.11.19", "12.3.2"), share: "usr/share/mariadb", plugins: "usr/lib64/mysql/plugin", client: "usr/bin/mariadb", name: "mariadb-12.3.2"},
		"mariadb enterprise": {path: "usr/sbin/mariadbd", says: enterprise, share: "usr/share/mysql", plugins: "usr/lib64/mysql/plugin", client: "usr/bin/mariadb", name: "mariadb-10.6.22"},
		"mariadb tarball":    {path: "usr/local/mysql/bin/mariadbd", says: mariadbText, share: "usr/local/mysql/share", plugins: "usr/local/mysql/lib/plugin", client: "usr/local/mysql/bin/mariadb", name: "mariadb-10.11.19"},
		"homebrew": {path: "home/linuxbrew/.linuxbrew/bin/mysqld", real: "home/linuxbrew/.linuxbrew/Cellar/mysql/26.10.0/bin/mysqld", says: calendar,
			share: "home/linuxbrew/.linuxbrew/Cellar/mysql/26.10.0/share/mysql", plugins: "home/linuxbrew/.linuxbrew/Cellar/mysql/26.10.0/lib/plugin", client: "home/linuxbrew/.linuxbrew/bin/mysql", name: "mysql-26.10.0"},
		"nix": {path: "run/current-system/sw/bin/mariadbd", real: "nix/store/0a1b-mariadb-server-12.3.2/bin/mariadbd", says: strings.ReplaceAll(mariadbText, "10.11.19", "12.3.2"),
			share: "nix/store/0a1b-mariadb-server-12.3.2/share/mysql", plugins: "nix/store/0a1b-mariadb-server-12.3.2/lib/mysql/plugin", client: "nix/store/0a1b-mariadb-server-12.3.2/bin/mariadb", name: "mariadb-12.3.2"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			in := func(p string) string { return filepath.Join(m.root, p) }
			daemon := c.path
			if c.real != "" {
				daemon = c.real
				if err := os.MkdirAll(filepath.Dir(in(c.path)), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			m.daemon(daemon, c.says)
			m.file(c.client, "", 0o755)
			m.file(c.plugins+"/auth_socket.so", "", 0o644)
			m.share(c.share)
			if c.real != "" {
				if err := os.Symlink(in(c.real), in(c.path)); err != nil {
					t.Fatal(err)
				}
			}
			s := m.mustFind(in(c.path))
			if s.Name() != c.name || s.Daemon.Path() != in(c.path) || s.Messages != in(c.share) || s.Charsets != in(c.share+"/charsets") || s.Plugins != in(c.plugins) || s.Client.Path() != in(c.client) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// foreign is the head of a program for another processor.
func foreign() string {
	machine := uint16(183) // EM_AARCH64
	if runtime.GOARCH == "arm64" {
		machine = 62 // EM_X86_64
	}
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], 2) // an executable
	binary.LittleEndian.PutUint16(b[18:], machine)
	binary.LittleEndian.PutUint32(b[20:], 1)
	binary.LittleEndian.PutUint16(b[52:], 64)
	return string(b)
}

// TestFindAtWrongPath: the message says what is there, and the hint what to do.
func TestFindAtWrongPath(t *testing.T) {
	m := newMachine(t)
	m.daemon("opt/my/bin/mysqld", mysqlText)
	m.file("opt/my/bin/mysql", "x", 0o755)
	m.file("opt/my/bin/mysqld_safe", "#!/bin/sh\ntouch "+m.root+"/ran\n", 0o755)
	m.file("opt/my/bin/mysqldump", "x", 0o755)
	m.file("opt/closed/bin/mysqld", "x", 0o644)
	m.file("opt/wrapped/bin/mysqld", "#!/bin/sh\nexec /opt/my/bin/mysqld \"$@\"\n", 0o755)
	m.file("opt/arm/bin/mysqld", foreign(), 0o755)
	m.file("opt/junk/bin/mysqld", "\x00\x01\x02\x03", 0o755)
	m.daemon("opt/lib/bin/mysqld", "sad: error while loading shared libraries: libaio.so.1: cannot open shared object file: No such file or directory")
	m.daemon("opt/cut/bin/mysqld", mysqlText)
	m.file("opt/cut/share/charsets/Index.xml", "x", 0o644)
	m.daemon("opt/other/bin/mysqld", "hello")
	m.file("opt/empty/README", "x", 0o644)
	daemon := filepath.Join(m.root, "opt/my/bin/mysqld")
	other := "arm64"
	if runtime.GOARCH == "arm64" {
		other = "amd64"
	}
	for path, want := range map[string]string{
		"opt/none/mysqld":        "there is no program at that path\nhint: ramaria server ls",
		"opt/my":                 "it is a directory\nhint: --server " + daemon,
		"opt/my/bin":             "it is a directory\nhint: --server " + daemon,
		"opt/empty":              "it is a directory\nhint: name the mariadbd or mysqld that lies in it",
		"opt/my/bin/mysql":       "mysql is not the server itself\nhint: --server " + daemon,
		"opt/my/bin/mysqldump":   "mysqldump is not the server itself\nhint: --server " + daemon,
		"opt/my/bin/mysqld_safe": "mysqld_safe is not the server itself\nhint: --server " + daemon,
		"opt/closed/bin/mysqld":  "it may not be executed\nhint: chmod +x '",
		"opt/wrapped/bin/mysqld": "it is a script, and ramaria has to start the server itself: ",
		"opt/arm/bin/mysqld":     "it is a program for " + other + ", and this machine is " + runtime.GOARCH + "\nhint: ",
		"opt/junk/bin/mysqld":    "it is not a program of Linux: ",
		"opt/lib/bin/mysqld":     "libaio.so.1: cannot open shared object file",
		"opt/cut/bin/mysqld":     "no messages (english/errmsg.sys) below " + filepath.Join(m.root, "opt/cut/share") + "\nhint: ",
		"opt/other/bin/mysqld":   `no version in "hello"`,
	} {
		_, err := m.Find(t.Context(), filepath.Join(m.root, path))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\nhint: ") != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(m.root, "ran")); err == nil {
		t.Error("mysqld_safe was run: it starts a server")
	}
}

func TestOtherTool(t *testing.T) {
	for _, name := range []string{"mysqld", "mariadbd", "mysqld-debug", "mysqld-8.0", "mysqld.real", "mysql8", "mysql-8.4", "postgres"} {
		if otherTool(name) != (name == "mysql-8.4") {
			t.Errorf("%s", name)
		}
	}
	for _, name := range []string{"mysql", "mariadb", "mysqldump", "mysqldumpslow", "mariadb-dump", "mysqladmin", "mysql_upgrade", "mariadb-install-db", "mysqlsh", "mysqlbinlog", "mysqld_safe", "mysqld_multi", "mariadbd-safe", "mariadbd-multi", "mariadbd-safe-helper"} {
		if !otherTool(name) {
			t.Errorf("%s", name)
		}
	}
}
