package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// The texts of two daemons.
const (
	mariadbText = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
	mysqlText   = "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)"
)

// machine is a tree of files that stands for a machine, and a finder on it.
type machine struct {
	*Finder
	t    *testing.T
	root string
	env  map[string]string
}

// newMachine has an empty PATH below its root and fetches nothing.
func newMachine(t *testing.T) *machine {
	t.Helper()
	base := t.TempDir()
	m := &machine{t: t, root: filepath.Join(base, "root"), env: map[string]string{}}
	m.env["PATH"] = filepath.Join(m.root, "usr/bin")
	m.Finder = &Finder{
		Host:    host.Host{Root: m.root},
		Places:  host.Places{Cache: filepath.Join(base, "home/cache")},
		Memo:    memo.Store{Dir: filepath.Join(base, "memo")},
		Getenv:  func(name string) string { return m.env[name] },
		NoFetch: true,
		keys:    filepath.Join(base, "no-keys"), // no suites of Debian's
	}
	return m
}

func (m *machine) file(name, content string, mode os.FileMode) {
	m.t.Helper()
	p := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), mode); err != nil {
		m.t.Fatal(err)
	}
}

// daemon plants a program that tells a version, and counts how often it does: a copy of this test, since
// a script is not taken for a server (see TestMain).
func (m *machine) daemon(name, text string) {
	m.t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		m.t.Fatal(err)
	}
	// Another file, if one is there already: a server that is upgraded is one, too.
	if err := os.RemoveAll(filepath.Join(m.root, name)); err != nil {
		m.t.Fatal(err)
	}
	m.file(name+says, filepath.Join(m.root, "runs")+"\n"+text, 0o644)
	m.file(name, string(self), 0o755)
}

// says is added to the name of a program of daemon for the file that has what it is to do: a file
// to write to, and a text; one that begins with sad is an error.
const says = ".says"

// TestMain is also the main function of the programs of daemon.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	b, err := os.ReadFile(self + says)
	if err != nil {
		os.Exit(m.Run())
	}
	runs, text, _ := strings.Cut(string(b), "\n")
	if w, err := os.OpenFile(runs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(w, "run")
		w.Close()
	}
	// At once: os.Exit waits for a second under the race detector.
	exit := func(code uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0) }
	if strings.HasPrefix(text, "sad") {
		fmt.Fprintln(os.Stderr, text)
		exit(3)
	}
	fmt.Println(text)
	exit(0)
}

// share plants the files that a server needs below prefix.
func (m *machine) share(dir string) {
	m.t.Helper()
	for _, f := range []string{"mysql_system_tables.sql", "english/errmsg.sys", "charsets/Index.xml"} {
		m.file(filepath.Join(dir, f), "x", 0o644)
	}
}

func (m *machine) runs() int {
	b, _ := os.ReadFile(filepath.Join(m.root, "runs"))
	return strings.Count(string(b), "run")
}

// fetched plants a server in the cache.
func (m *machine) fetched(version string) *server.Server {
	m.t.Helper()
	v, err := server.ParseVersion(version)
	if err != nil {
		m.t.Fatal(err)
	}
	s := &server.Server{Flavour: server.MariaDB, Version: v, Origin: "apt"}
	s.Dir = filepath.Join(m.Places.Servers(), s.Name())
	s.Daemon.Argv = []string{s.Dir + "/lib/ld.so", "--library-path", s.Dir + "/usr/lib:" + s.Dir + "/lib", s.Dir + "/usr/sbin/mariadbd"}
	s.Share = s.Dir + "/usr/share/mysql"
	if err := makeOpenDir(s.Dir + "/usr/sbin"); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(s.Daemon.Path(), nil, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := writeDescription(s.Dir, s); err != nil {
		m.t.Fatal(err)
	}
	return s
}

func (m *machine) mustFind(want string) *server.Server {
	m.t.Helper()
	s, err := m.Find(m.t.Context(), want)
	if err != nil {
		m.t.Fatalf("Find(%q): %v", want, err)
	}
	return s
}

func TestFindInstalled(t *testing.T) {
	m := newMachine(t)
	m.daemon("usr/sbin/mariadbd", mariadbText) // not on PATH
	if err := os.Symlink("mariadbd", filepath.Join(m.root, "usr/sbin/mysqld")); err != nil {
		t.Fatal(err)
	}
	m.share("usr/share/mysql")
	m.file("usr/bin/mysql", "", 0o755)
	m.file("usr/lib/mysql/plugin/x.so", "", 0o644)
	m.fetched("11.4.5")
	in := func(p string) string { return filepath.Join(m.root, p) }
	want := &server.Server{
		Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11, Patch: 19}, Origin: "path", Dir: in("usr/sbin"),
		Daemon: server.Program{Argv: []string{in("usr/sbin/mariadbd")}}, Client: server.Program{Argv: []string{in("usr/bin/mysql")}},
		Share: in("usr/share/mysql"), Messages: in("usr/share/mysql"), Charsets: in("usr/share/mysql/charsets"), Plugins: in("usr/lib/mysql/plugin"),
	}
	for _, text := range []string{"", "mariadb", "mariadb:10.11"} {
		if diff := cmp.Diff(want, m.mustFind(text)); diff != "" {
			t.Errorf("Find(%q): -want +got:\n%s", text, diff)
		}
	}
	if got := m.mustFind("mariadb:11.4"); got.Origin != "apt" {
		t.Errorf("Find(mariadb:11.4) = %+v", got)
	}
	wantOver := []PassedOver{{in("usr/sbin/mariadbd"), "it is version 10.11.19, not mariadb:11.4"}}
	if diff := cmp.Diff(wantOver, m.PassedOver); diff != "" {
		t.Errorf("passed over: -want +got:\n%s", diff)
	}
}

func TestFindStartsNothingTwice(t *testing.T) {
	m := newMachine(t)
	m.daemon("usr/sbin/mariadbd", mariadbText)
	m.share("usr/share/mariadb")
	time.Sleep(100 * time.Millisecond) // a file that changed just now is not remembered
	for range 5 {
		m.mustFind("")
	}
	if n := m.runs(); n != 1 {
		t.Errorf("the daemon ran %d times", n)
	}
	m.daemon("usr/sbin/mariadbd", strings.ReplaceAll(mariadbText, "10.11.19", "10.11.20"))
	if v := m.mustFind("").Version.String(); v != "10.11.20" || m.runs() != 2 {
		t.Errorf("after an upgrade: version %s, %d runs", v, m.runs())
	}
}

func TestFindPassesOver(t *testing.T) {
	for name, c := range map[string]struct {
		plant  func(m *machine)
		reason string
	}{
		"MySQL": {func(m *machine) { m.daemon("usr/sbin/mysqld", mysqlText); m.share("usr/share/mysql") }, "it is MySQL 8.0.36, not mariadb"},
		"too old": {func(m *machine) {
			m.daemon("usr/sbin/mysqld", "mysqld  Ver 10.5.1-MariaDB for x")
			m.share("usr/share/mysql")
		}, "older than 10.6"},
		"broken":     {func(m *machine) { m.daemon("usr/bin/mariadbd", "sad") }, "exit status 3: sad"},
		"script":     {func(m *machine) { m.file("usr/bin/mariadbd", "#!/bin/sh\nexec /opt/mariadbd \"$@\"\n", 0o755) }, "it is a script"},
		"incomplete": {func(m *machine) { m.daemon("usr/bin/mariadbd", mariadbText) }, "no bootstrap files"},
		"confined": {func(m *machine) {
			m.daemon("usr/sbin/mariadbd", mariadbText)
			m.share("usr/share/mysql")
			m.file("sys/module/apparmor/parameters/enabled", "Y\n", 0o644)
			m.file("etc/apparmor.d/mariadbd", "profile mariadbd /usr/sbin/mariadbd {\n}\n", 0o644)
		}, "AppArmor profile mariadbd keeps it out"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			c.plant(m)
			_, err := m.Find(t.Context(), "")
			if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), "\nhint: ") {
				t.Errorf("without a cache: %v", err)
			}
			cached := m.fetched("11.4.5")
			if s := m.mustFind(""); s.Dir != cached.Dir {
				t.Errorf("took %+v", s)
			}
			if len(m.PassedOver) != 1 || !strings.Contains(m.PassedOver[0].Reason, c.reason) {
				t.Errorf("passed over %+v", m.PassedOver)
			}
			list, err := m.List(t.Context())
			if err != nil || len(list) != 2 || list[0].Chosen || !list[1].Chosen {
				t.Fatalf("List: %+v, %v", list, err)
			}
			// MySQL is of use to who asks for it.
			if usable := list[0].PassedOver == ""; usable != (name == "MySQL") {
				t.Errorf("List: %+v", list[0])
			}
		})
	}
}

func TestFindAtPath(t *testing.T) {
	m := newMachine(t)
	m.daemon("opt/m/bin/mariadbd", mariadbText)
	m.daemon("opt/my/bin/mysqld", mysqlText)
	m.daemon("opt/bare/bin/mysqld", mysqlText)
	m.share("opt/m/share")
	m.share("opt/my/share")
	if s := m.mustFind(filepath.Join(m.root, "opt/my/bin/mysqld")); s.Name() != "mysql-8.0.36" || s.Share != "" || s.Messages != filepath.Join(m.root, "opt/my/share") {
		t.Errorf("%+v", s)
	}
	s := m.mustFind(filepath.Join(m.root, "opt/m/bin/mariadbd"))
	if s.Share != filepath.Join(m.root, "opt/m/share") || s.Client.Argv != nil || s.Plugins != "" {
		t.Errorf("%+v", s)
	}
	cached := m.fetched("11.4.5")
	if s := m.mustFind(cached.Daemon.Path()); len(s.Daemon.Argv) != 4 {
		t.Errorf("the daemon of a fetched server has to run through its loader: %v", s.Daemon.Argv)
	}
	if s := m.mustFind(newMachine(t).fetched("11.4.5").Daemon.Path()); len(s.Daemon.Argv) != 4 {
		t.Errorf("that of another home has to, too: %v", s.Daemon.Argv)
	}
	for path, want := range map[string]string{"opt/none/mariadbd": "no program at that path", "opt/bare/bin/mysqld": "no messages"} {
		if _, err := m.Find(t.Context(), filepath.Join(m.root, path)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFindCached(t *testing.T) {
	m := newMachine(t)
	m.fetched("10.11.9")
	m.fetched("10.11.19")
	m.fetched("10.6.20")
	if v := m.mustFind("").Version.String(); v != "10.11.19" {
		t.Errorf("newest is %s", v)
	}
	if v := m.mustFind("mariadb:10.6").Version.String(); v != "10.6.20" {
		t.Errorf("mariadb:10.6 is %s", v)
	}
	// A killed fetch and somebody's directory are no servers.
	for _, name := range []string{partialPrefix + "1", "mariadb-99.1.1"} {
		if err := os.Mkdir(filepath.Join(m.Places.Servers(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if v := m.mustFind("").Version.String(); v != "10.11.19" {
		t.Errorf("newest is %s", v)
	}
	// Others could put a program there.
	if err := os.Chmod(filepath.Join(m.Places.Servers(), "mariadb-10.11.19"), 0o777); err != nil {
		t.Fatal(err)
	}
	if v := m.mustFind("").Version.String(); v != "10.11.9" {
		t.Errorf("took %s, to which others may write", v)
	}
}

func TestFindInMovedCache(t *testing.T) {
	m := newMachine(t)
	s := m.fetched("10.11.19")
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.Rename(m.Places.Servers(), shared); err != nil {
		t.Fatal(err)
	}
	m.Places.Cache = filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(m.Places.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, m.Places.Servers()); err != nil {
		t.Fatal(err)
	}
	got := m.mustFind("")
	rebaseServer(s, filepath.Join(m.Places.Servers(), s.Name()))
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, p := range append(got.Daemon.Argv, got.Share) {
		if p != "--library-path" && !strings.HasPrefix(p, m.Places.Servers()) {
			t.Errorf("%s does not lie in the moved cache", p)
		}
	}
}

func TestFindEndsWithContext(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Find(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func BenchmarkFindHot(b *testing.B) {
	for _, where := range []string{"installed", "cached"} {
		b.Run(where, func(b *testing.B) {
			t := &testing.T{}
			base := b.TempDir()
			m := &machine{t: t, root: filepath.Join(base, "root")}
			m.Finder = &Finder{Host: host.Host{Root: m.root}, Places: host.Places{Cache: filepath.Join(base, "cache")},
				Memo: memo.Store{Dir: filepath.Join(base, "memo")}, Getenv: func(string) string { return "" }, NoFetch: true}
			if where == "installed" {
				m.daemon("usr/sbin/mariadbd", mariadbText)
				m.share("usr/share/mysql")
				m.file("sys/module/apparmor/parameters/enabled", "Y\n", 0o644)
				for i := range 120 { // as many as Ubuntu 24.04 has
					m.file(fmt.Sprintf("etc/apparmor.d/p%d", i), fmt.Sprintf("profile p%d /usr/bin/p%d {\n  /x r,\n}\n", i, i), 0o644)
				}
				time.Sleep(100 * time.Millisecond)
			} else {
				m.fetched("10.11.19")
			}
			for b.Loop() {
				if _, err := m.Find(b.Context(), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestCachedOrder: the distribution's server comes before a newer one that was
// fetched by name.
func TestCachedOrder(t *testing.T) {
	apt := candidate{server: &server.Server{Origin: methodApt, Version: server.Version{Major: 10, Minor: 11, Patch: 19}}}
	jar := candidate{server: &server.Server{Origin: methodMaven, Version: server.Version{Major: 11, Minor: 4, Patch: 5}}}
	if apt.distribution() <= jar.distribution() {
		t.Error("the distribution's server does not come first")
	}
}
