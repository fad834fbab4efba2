package server_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// nobody is the account of the fetch without root.
const nobody = 65534

// checkReal runs the daemon and the client of a fetched server.
func checkReal(t *testing.T, s *server.Server, origin, series string) {
	t.Helper()
	if s.Origin != origin || series != "" && s.Version.Series() != series {
		t.Errorf("got %s by %s", s.Name(), s.Origin)
	}
	for _, p := range []server.Program{s.Daemon, s.Client} {
		if len(p.Argv) == 0 {
			t.Errorf("a program of %s is missing", s.Name())
			continue
		}
		argv := append(append([]string{}, p.Argv...), "--no-defaults", "--version")
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(s.Version.String()+"-MariaDB")) {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
	}
	for _, dir := range []string{s.Share, s.Messages, s.Charsets, s.Plugins} {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			t.Errorf("directory %q: %v", dir, err)
		}
	}
	// What runs comes from the fetched directory, not from the system.
	if origin == "apt" && len(s.Daemon.Argv) > 1 {
		argv := append([]string{s.Daemon.Argv[0], "--list"}, s.Daemon.Argv[1:]...)
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if lib := strings.Fields(line); len(lib) > 2 && !strings.HasPrefix(lib[2], s.Dir) {
				t.Errorf("a library of the system: %s", line)
			}
		}
	}
}

// TestRealPackages fetches the distribution's packages into the shared directory,
// unless they are there already.
func TestRealPackages(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("SKIPPED, UNTESTED: real packages, since there is no apt-get here")
	}
	s := servertest.Find(t, "mariadb:"+aptSeries(t))
	checkReal(t, s, "apt", "")
}

// aptSeries asks the machine which series its packages have: the shared directory
// may hold another one, newer and from a jar.
func aptSeries(t *testing.T) string {
	t.Helper()
	f := servertest.Finder(t)
	list, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range list {
		if found.Origin == "apt" && found.PassedOver == "" {
			v, err := server.ParseVersion(found.Version)
			if err != nil {
				t.Fatal(err)
			}
			return v.Series()
		}
	}
	return "10"
}

// TestRealJar fetches the real jar into the shared directory, unless it is there.
func TestRealJar(t *testing.T) {
	checkReal(t, servertest.Find(t, "mariadb:11.4.5"), "maven", "11.4")
}

// TestRealPackagesWithoutRoot fetches as an ordinary user, anew every time.
func TestRealPackagesWithoutRoot(t *testing.T) {
	t.Parallel()
	if home := os.Getenv("RAMARIA_REAL_HOME"); home != "" { // the other process
		f := &server.Finder{
			Host: host.Host{Root: home}, Places: host.Places{Cache: filepath.Join(home, "cache")},
			Memo: memo.Store{Dir: filepath.Join(home, "memo")}, Progress: os.Stderr,
			Getenv: func(string) string { return "" },
		}
		s, err := f.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		checkReal(t, s, "apt", "")
		fmt.Println("fetched by user", os.Getuid())
		return
	}
	switch _, err := exec.LookPath("apt-get"); {
	case err != nil:
		t.Skip("SKIPPED, UNTESTED: real packages without root, since there is no apt-get here")
	case os.Getenv(servertest.EnvOffline) == "1":
		t.Skipf("SKIPPED, UNTESTED: real packages without root, since %s=1", servertest.EnvOffline)
	case os.Getuid() != 0:
		t.Skip("skipped: TestRealPackages is the same for an ordinary user")
	}
	home, err := os.MkdirTemp("", "ramaria-real-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program := filepath.Join(home, "test") // the test's own program lies where only root can read
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err == nil {
		err = os.Chown(home, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestRealPackagesWithoutRoot$", "-test.v")
	cmd.Dir = home
	cmd.Env = []string{"RAMARIA_REAL_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(fmt.Sprint("fetched by user ", nobody))) {
		t.Errorf("%v\n%s", err, out)
	}
}
