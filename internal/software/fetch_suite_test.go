package software

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// debian is a mirror that a test makes, and the paths that were asked for.
type debian struct {
	*httptest.Server
	mu    sync.Mutex // guards asked
	asked []string
}

func (d *debian) paths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.asked)
}

// debianOf serves a mirror with sid, or with nothing if the version is empty. Its MySQL
// only tells its version.
func debianOf(t *testing.T, version string) *debian {
	t.Helper()
	needTools(t, "apt-get", "dpkg-deb")
	repo := t.TempDir()
	if version != "" {
		daemon := "#!/bin/sh\necho 'mysqld  Ver " + version + "-2 for debian-linux-gnu on x86_64 ((Debian))'\n"
		repo = repositoryOf(t,
			fakePackage{name: "mysql-server-core", version: version + "-2", depends: "perl:any, libfake1", files: map[string]string{
				"usr/sbin/mysqld":                                   daemon,
				"usr/bin/mysqlbinlog":                               "#!/bin/sh\n",
				"usr/bin/mysqld_safe":                               "not needed",
				"usr/share/mysql/english/errmsg.sys":                "x",
				"usr/share/mysql/charsets/Index.xml":                "x",
				"usr/lib/mysql/plugin/component_reference_cache.so": "x",
				"usr/lib/mysql/plugin/telemetry_client.so":          "not needed",
			}},
			fakePackage{name: "mysql-client-core", version: version + "-2", files: map[string]string{
				"usr/bin/mysql": "#!/bin/sh\n", "usr/bin/mysqldump": "#!/bin/sh\n", "usr/bin/mysqlslap": "not needed",
			}},
			fakePackage{name: "libfake1", version: "1", files: map[string]string{"usr/lib/libfake.so.1t64": "x"}})
		makeSuite(t, repo, "sid")
	}
	d := &debian{}
	files := http.FileServer(http.Dir(repo))
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.asked = append(d.asked, r.URL.Path)
		d.mu.Unlock()
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/debian")
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// unsigned lets apt take unsigned packages.
const unsigned = `Acquire::AllowInsecureRepositories "true";
APT::Get::AllowUnauthenticated "true";
`

// suiteMachine is a machine with no packages of its own, and a mirror of Debian's.
func suiteMachine(t *testing.T, mirror string) *machine {
	t.Helper()
	m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
	m.aptSources("")
	m.apt += unsigned
	m.keys, m.mirror = filepath.Join(m.root, "keys.gpg"), mirror
	m.file("keys.gpg", "", 0o644)
	return m
}

func TestFetchSuite(t *testing.T) {
	m := suiteMachine(t, debianOf(t, "9.7.4").URL)
	s := m.mustFind("mysql")
	dir := filepath.Join(m.Places.Servers(), "mysql-9.7.4")
	program := func(name string) server.Program { return aptProgram(dir, name) }
	want := &server.Server{
		Flavour: server.MySQL, Version: server.Version{Major: 9, Minor: 7, Patch: 4}, Origin: "debian-sid", Dir: dir,
		Daemon: program("sbin/mysqld"), Client: program("bin/mysql"), Dumper: program("bin/mysqldump"), LogReader: program("bin/mysqlbinlog"),
		Messages: dir + "/usr/share/mysql", Charsets: dir + "/usr/share/mysql/charsets", Plugins: dir + "/usr/lib/mysql/plugin",
	}
	for _, text := range []string{"mysql", "mysql:9", "mysql:9.7", "mysql:9.7.4"} {
		m.NoFetch = true
		if diff := cmp.Diff(want, m.mustFind(text)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
	if s.Name() != "mysql-9.7.4" {
		t.Errorf("fetched %s", s.Name())
	}
	for name, want := range map[string]bool{
		"usr/lib/libfake.so.1t64": true, "usr/lib/mysql/plugin/component_reference_cache.so": true,
		"usr/lib/mysql/plugin/telemetry_client.so": false, "usr/bin/mysqlslap": false, "usr/bin/mysqld_safe": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Find(t.Context(), ""); err == nil {
		t.Error("MySQL was taken where MariaDB is wanted")
	}
}

// Sid moves on: what it has is what counts.
func TestFetchSuiteMoves(t *testing.T) {
	mirror := debianOf(t, "10.1.0").URL
	m := suiteMachine(t, mirror)
	if s := m.mustFind("mysql:10"); s.Name() != "mysql-10.1.0" {
		t.Errorf("fetched %s", s.Name())
	}
	_, err := m.Find(t.Context(), "mysql:9.7")
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "Debian's sid has 10.1.0, not mysql:9.7") {
		t.Errorf("%v", err)
	}
}

func TestFetchSuiteFails(t *testing.T) {
	fine := debianOf(t, "9.7.4")
	for name, c := range map[string]struct {
		want   string
		change func(m *machine)
		says   []string
	}{
		"another version": {"mysql:8.4", nil, []string{
			"debian-sid: not available: Debian's sid has 9.7 or newer, not mysql:8.4",
			"hint: use --server mysql, or name one with --server /path/to/mysqld; what can be fetched is mysql the distribution's version by apt",
			"mysql 9.7 by debian-sid",
		}},
		"of the same series": {"mysql:9.7.3", nil, []string{"Debian's sid has 9.7.4, not mysql:9.7.3"}},
		"no apt":             {"mysql", func(m *machine) { m.noApt() }, []string{"debian-sid: not available: apt-get is not on PATH"}},
		"no keys": {"mysql", func(m *machine) { m.keys += "none" }, []string{
			"debian-sid: not available: Debian's keys are not on this machine", "of the package debian-archive-keyring",
		}},
		"unsigned": {"mysql", func(m *machine) { m.apt = strings.ReplaceAll(m.apt, unsigned, "") }, []string{"debian-sid: ", "is not signed"}},
		"not reachable": {"mysql", func(m *machine) { m.mirror = "http://" + closedPort(t) + "/debian" }, []string{
			"since there seems to be no network", "debian-sid: ", "hint: install MySQL's own packages",
		}},
		"on Ubuntu": {"mysql", func(m *machine) {
			m.mirror = "http://" + closedPort(t) + "/debian"
			m.file("etc/os-release", "ID=ubuntu\nID_LIKE=debian\n", 0o644)
		}, []string{"hint: sudo apt-get install mysql-server-core-8.0 "}},
		"not a mirror": {"mysql", func(m *machine) { m.mirror = debianOf(t, "").URL }, []string{"debian-sid: ", "apt knows no package mysql-server-core", "404"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := suiteMachine(t, fine.URL)
			if c.change != nil {
				c.change(m)
			}
			_, err := m.Find(t.Context(), c.want)
			if !errors.Is(err, ErrNoServer) {
				t.Fatalf("%v", err)
			}
			for _, text := range append(c.says, "\nhint: ") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error lacks %q:\n%v", text, err)
				}
			}
			if left := m.cacheNames(); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	for _, path := range fine.paths() {
		if !strings.HasPrefix(path, "/dists/sid/") {
			t.Errorf("downloaded %s", path)
		}
	}
}

// fetchSid fetches MySQL from sid, and nothing else is tried.
func (m *machine) fetchSid(text string) (*server.Server, error) {
	m.t.Helper()
	w, err := parseWant(text)
	if err != nil {
		m.t.Fatal(err)
	}
	work := m.t.TempDir()
	if err := os.Chmod(filepath.Dir(work), 0o755); err != nil { // for apt's own user
		m.t.Fatal(err)
	}
	return m.fetchSuite(m.t.Context(), suitesOf(w.family)[0], w, work, newProgress(nil, "", work))
}

// TestFetchSuiteAlone: options of the machine's own sources apply to those sources only.
func TestFetchSuiteAlone(t *testing.T) {
	mirror, others := debianOf(t, "9.7.4"), debianOf(t, "9.7.9")
	m := suiteMachine(t, mirror.URL)
	m.aptSources("deb [trusted=yes] " + others.URL + " sid main")
	pins := filepath.Join(t.TempDir(), "pins")
	if err := os.WriteFile(pins, []byte("Package: *\nPin: release n=sid\nPin-Priority: -1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.apt += unsigned + fmt.Sprintf("Dir::Etc::Preferences %q;\nAPT::Default-Release \"stable\";\n", pins)
	if s, err := m.fetchSid("mysql"); err != nil || !strings.HasSuffix(s.Daemon.Path(), "/usr/sbin/mysqld") {
		t.Errorf("%+v, %v", s, err)
	}
	if asked := others.paths(); len(asked) > 0 {
		t.Errorf("the machine's sources were asked for %q", asked)
	}
}

// The machine's mirror comes first, and need not have all suites.
func TestFetchSuiteMirror(t *testing.T) {
	for name, c := range map[string]struct {
		version string // that the machine's mirror has
		ours    bool   // Debian's own is asked
	}{"has it": {"9.7.4", false}, "lacks it": {"", true}} {
		t.Run(name, func(t *testing.T) {
			near, far := debianOf(t, c.version), debianOf(t, "9.7.4")
			m := suiteMachine(t, far.URL)
			m.aptSources("deb " + near.URL + "/debian bookworm main\ndeb " + near.URL + "/other bookworm main")
			m.apt += unsigned
			if _, err := m.fetchSid("mysql"); err != nil {
				t.Error(err)
			}
			if len(near.paths()) == 0 || c.ours != (len(far.paths()) > 0) {
				t.Errorf("the machine's mirror was asked for %q, Debian's for %q", near.paths(), far.paths())
			}
		})
	}
}

func TestDebianSites(t *testing.T) {
	for name, c := range map[string]struct{ listed, uris, want string }{
		"with lists": {
			listed: "http://sec/debian\tDebian/main/Debian-Security\nhttps://x/debian\tx/main/x\nhttp://near/deb-mirror\tDebian/main/Debian\n",
			want:   "http://near/deb-mirror",
		},
		"Ubuntu's lists": {listed: "http://archive/ubuntu\tUbuntu/main/Ubuntu\n"},
		"contrib only":   {listed: "http://near/debian\tDebian/contrib/Debian\n"},
		"without lists": {
			uris: "'http://sec/debian-security/dists/x/InRelease' x 0 \n'cdrom://Debian 12/debian/dists/x/InRelease' x 0 \n'http://near/debian/dists/x/InRelease' x 0 \n",
			want: "http://near/debian",
		},
		"a cloud's image": {
			uris: "'mirror+file:/etc/apt/mirrors/debian.list/dists/bookworm/InRelease' x 0 \n",
			want: "mirror+file:/etc/apt/mirrors/debian.list",
		},
		"somebody's": {uris: "'https://x/php/dists/bookworm/InRelease' x 0 \n"},
		"complaints": {listed: "E: no\n", uris: "E: no\n"},
	} {
		if got := listedSite(c.listed) + guessedSite(c.uris); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSuiteRefuses(t *testing.T) {
	trixie, sid := suites[0], suites[1]
	for _, c := range []struct {
		suite suite
		want  string
		ok    bool
	}{
		{trixie, "mariadb", true}, {trixie, "mariadb:11", true}, {trixie, "mariadb:11.8", true}, {trixie, "mariadb:11.8.2", true},
		{trixie, "mariadb:10", false}, {trixie, "mariadb:11.4", false}, {trixie, "mariadb:12", false}, {trixie, "mariadb:12.1", false},
		{sid, "mysql", true}, {sid, "mysql:9", true}, {sid, "mysql:9.7.4", true}, {sid, "mysql:9.8", true}, {sid, "mysql:10", true},
		{sid, "mysql:8", false}, {sid, "mysql:8.4", false}, {sid, "mysql:9.6", false},
	} {
		w, err := parseWant(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if why := c.suite.refuses(w); (why == "") != c.ok {
			t.Errorf("%s for %s: %q", c.suite.name, c.want, why)
		}
	}
}
