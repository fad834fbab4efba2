package software_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/software"
)

// nobody is the account of the fetch without root.
const nobody = 65534

// checkReal runs the programs of a fetched server, and checks that it has them all but
// those that are named.
func checkReal(t *testing.T, s *server.Server, origin, series string, lacks ...string) {
	t.Helper()
	if s.Origin != origin || series != "" && s.Version.Series() != series {
		t.Errorf("got %s by %s", s.Name(), s.Origin)
	}
	for name, p := range map[string]server.Program{"daemon": s.Daemon, "client": s.Client, "dumper": s.Dumper, "log reader": s.LogReader} {
		if slices.Contains(lacks, name) != (len(p.Argv) == 0) {
			t.Errorf("the %s of %s is %q", name, s.Name(), p.Argv)
		}
		if len(p.Argv) == 0 {
			continue
		}
		argv := append(append([]string{}, p.Argv...), "--no-defaults", "--version")
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(s.Version.String())) {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
		if origin != "maven" && len(p.Argv) > 1 {
			checkLibraries(t, p, s.Dir)
			checkOpened(t, argv, s.Dir)
		}
	}
	for name, dir := range map[string]string{"share": s.Share, "messages": s.Messages, "charsets": s.Charsets, "plugins": s.Plugins} {
		if name == "share" && s.Flavour == server.MySQL {
			continue
		}
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			t.Errorf("%s %q: %v", name, dir, err)
		}
	}
}

// checkLibraries checks that what runs comes from the fetched directory, not from the
// system.
func checkLibraries(t *testing.T, p server.Program, dir string) {
	t.Helper()
	argv := append([]string{p.Argv[0], "--list"}, p.Argv[1:]...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil || len(out) == 0 {
		t.Errorf("%q: %v: %s", argv, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if lib := strings.Fields(line); len(lib) > 2 && !strings.HasPrefix(lib[2], dir) {
			t.Errorf("a library of the system: %s", line)
		}
	}
}

// checkOpened runs a program and checks that all libraries that it loads, also those
// that it opens by itself, come from the fetched directory.
func checkOpened(t *testing.T, argv []string, dir string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LD_DEBUG=files")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Run(); err != nil {
		t.Errorf("%q: %v", argv, err)
	}
	loaded := 0
	for line := range strings.Lines(talk.String()) {
		_, lib, ok := strings.Cut(line, "calling init: ")
		if !ok {
			continue
		}
		loaded++
		if lib = strings.TrimSpace(lib); !strings.HasPrefix(lib, dir) {
			t.Errorf("%s loads %s", argv[len(argv)-3], lib)
		}
	}
	if loaded == 0 {
		t.Errorf("%q: the loader tells nothing:\n%s", argv, talk.String())
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

// TestRealSuites fetches from Debian's suites into the shared directory, unless that
// is done already.
func TestRealSuites(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("SKIPPED, UNTESTED: real suites of Debian, since there is no apt-get here")
	}
	for _, c := range []struct{ want, origin string }{{"mariadb:11.8", "debian-trixie"}, {"mysql:9.7", "debian-sid"}} {
		t.Run(c.want, func(t *testing.T) {
			_, series, _ := strings.Cut(c.want, ":")
			checkReal(t, servertest.Find(t, c.want), c.origin, series)
		})
	}
}

// TestRealSuitesRun starts what was fetched, and looks at what the daemon has mapped.
func TestRealSuitesRun(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("SKIPPED, UNTESTED: real suites of Debian, since there is no apt-get here")
	}
	for want, more := range map[string]string{
		"mariadb:11.8": "SELECT 1",
		"mysql:9.7":    "INSTALL COMPONENT 'file://component_validate_password'; SELECT 'a' REGEXP '\\\\w'", // a plugin, and ICU
	} {
		t.Run(want, func(t *testing.T) {
			r := servertest.Start(t, servertest.Find(t, want))
			out, err := exec.Command(r.Mysql[0], append(r.Mysql[1:], "-N", "-e", more+"; SELECT @@pid_file")...).CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || len(lines) != 2 || lines[0] != "1" {
				t.Fatalf("%v: %s", err, out)
			}
			pid, err := os.ReadFile(lines[1])
			if err != nil {
				t.Fatal(err)
			}
			maps, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "maps"))
			if err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.EvalSymlinks(r.Dir) // as the kernel tells it
			if err != nil {
				t.Fatal(err)
			}
			libraries := 0
			for line := range strings.Lines(string(maps)) {
				f := strings.Fields(line)
				if len(f) < 6 || !strings.Contains(f[5], ".so") {
					continue
				}
				if libraries++; !strings.HasPrefix(f[5], dir) {
					t.Errorf("it runs on %s", f[5])
				}
			}
			if libraries == 0 {
				t.Errorf("no libraries in\n%s", maps)
			}
		})
	}
}

// TestRealJar fetches the real jar into the shared directory, unless it is there.
func TestRealJar(t *testing.T) {
	checkReal(t, servertest.Find(t, "mariadb:11.4.5"), "maven", "11.4", "log reader") // the jar has none
}

// TestRealPackagesWithoutRoot fetches as an ordinary user, without a cache.
func TestRealPackagesWithoutRoot(t *testing.T) {
	t.Parallel()
	if f := otherUser(); f != nil { // the other process
		s, err := f.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		checkReal(t, s, "apt", "")
		return
	}
	if needReal(t); os.Getuid() != 0 {
		t.Skip("SKIPPED: TestRealPackages is the same for an ordinary user")
	}
	asNobody(t)
}

// TestRealTools fetches each tool as an ordinary user, without a cache, on a machine
// that seems to have none, and uses it.
func TestRealTools(t *testing.T) {
	t.Parallel()
	f := otherUser()
	if f == nil {
		if needReal(t); os.Getuid() == 0 {
			asNobody(t)
			return
		}
		f = finderIn(t.TempDir())
	}
	run := func(p server.Program, args ...string) string {
		t.Helper()
		argv := append(append([]string{}, p.Argv...), args...)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), p.Env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
		return string(out)
	}
	tool := func(tool software.Tool) (p server.Program, dir string) {
		t.Helper()
		p, err := f.Tool(t.Context(), tool)
		if err != nil {
			t.Fatal(err)
		}
		tools := filepath.Join(f.Places.Cache, "tools")
		found, err := filepath.Glob(filepath.Join(tools, tool.Program+"-*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("in the cache: %v, %v", found, err)
		}
		checkLibraries(t, p, found[0])
		return p, found[0]
	}
	const size = 512 << 20 // xfsprogs refuses less than 300 MB since 5.19
	disk := filepath.Join(f.Places.Cache, "disk")
	mkfs, _ := tool(software.MkfsXFS)
	if err := errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, size)); err != nil {
		t.Fatal(err)
	}
	run(mkfs, "-q", disk)
	superblock := make([]byte, 4)
	if r, err := os.Open(disk); err != nil {
		t.Error(err)
	} else if _, err := io.ReadFull(r, superblock); err != nil || string(superblock) != "XFSB" {
		t.Errorf("no file system: %q, %v", superblock, err)
	}
	sysbench, dir := tool(software.Sysbench)
	run(sysbench, "--help")
	if out := run(sysbench, "oltp_update_index", "help"); !strings.Contains(out, "--tables=") {
		t.Errorf("no options of the script: %s", out)
	}
	plugins := slices.IndexFunc(sysbench.Env, func(e string) bool { return strings.HasPrefix(e, "MARIADB_PLUGIN_DIR="+dir) })
	if plugins < 0 {
		t.Errorf("no plugins in its environment: %q", sysbench.Env)
	} else if _, err := os.Stat(filepath.Join(strings.TrimPrefix(sysbench.Env[plugins], "MARIADB_PLUGIN_DIR="), "caching_sha2_password.so")); err != nil {
		t.Errorf("accounts of MySQL cannot log in: %v", err)
	}
	// An installed sysbench has scripts of the same names; this one it has not.
	script := "require('oltp_common')\nprint('from ' .. package.searchpath('oltp_common', package.path))\n"
	if err := os.WriteFile(filepath.Join(dir, "usr/share/sysbench/ours.lua"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(sysbench, "ours", "help"); !strings.Contains(out, "from "+dir) {
		t.Errorf("other scripts are used: %s", out)
	}
}

// envRealHome names the directory of a test that runs as another user.
const envRealHome = "RAMARIA_REAL_HOME"

// otherUser returns the finder of a test that asNobody started, else nil.
func otherUser() *software.Finder {
	if home := os.Getenv(envRealHome); home != "" {
		return finderIn(home)
	}
	return nil
}

// finderIn returns a finder on a machine where nothing is installed or fetched.
func finderIn(home string) *software.Finder {
	return &software.Finder{
		Host: host.Host{Root: home}, Places: host.Places{Cache: filepath.Join(home, "cache")},
		Memo: memo.Store{Dir: filepath.Join(home, "memo")}, Progress: os.Stderr,
		Getenv: func(string) string { return "" },
	}
}

// needReal skips a test that fetches the distribution's packages without a cache.
func needReal(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("SKIPPED, UNTESTED: real packages without root, since there is no apt-get here")
	}
	if os.Getenv(servertest.EnvOffline) == "1" {
		t.Skipf("SKIPPED, UNTESTED: real packages without root, since %s=1", servertest.EnvOffline)
	}
}

// asNobody runs the test again as an ordinary user.
func asNobody(t *testing.T) {
	t.Helper()
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
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = home
	cmd.Env = []string{envRealHome + "=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}
