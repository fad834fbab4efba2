package software

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// repository makes a repository of MariaDB's packages of those names, holding a server
// that only tells its version, and returns its directory.
func repository(t *testing.T, names []string, version string) string {
	t.Helper()
	files := fakeServer(version)
	full := "1:" + version + "-0+test"
	return repositoryOf(t, fakePackage{name: names[0], version: full, files: map[string]string{
		"usr/sbin/mariadbd":                       files["bin/mariadbd"],
		"usr/share/mysql/english/errmsg.sys":      "x",
		"usr/share/mysql/charsets/Index.xml":      "x",
		"usr/share/mysql_system_tables.sql":       "not here",
		"usr/share/doc/x/changelog":               "not needed",
		"usr/share/mysql/mysql_system_tables.sql": "x",
	}}, fakePackage{name: names[1], version: full, files: map[string]string{"usr/bin/mariadb": "#!/bin/sh\n"}},
		fakePackage{name: names[2], version: full, depends: "perl:any, debianutils (>= 1.6)", files: map[string]string{
			"usr/bin/mariadb-dump": "#!/bin/sh\n", "usr/bin/mariadb-binlog": "#!/bin/sh\n", "usr/bin/mytop": "not needed",
		}})
}

// mariadbPackages are the names of MariaDB's packages, by the order of trial.
var mariadbPackages = packagesOf[server.MariaDB].names

// fakePackage is a package of a repository that a test makes.
type fakePackage struct {
	name, version, depends string
	files                  map[string]string
}

func repositoryOf(t *testing.T, packages ...fakePackage) string {
	t.Helper()
	needTools(t, "apt-get", "dpkg-deb")
	repo := t.TempDir()
	if err := os.Chmod(filepath.Dir(repo), 0o755); err != nil { // for apt's own user
		t.Fatal(err)
	}
	arch := architecture(t)
	var index strings.Builder
	for _, p := range packages {
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: x <x@example.org>\nDescription: x\n",
			p.name, p.version, arch)
		if p.depends != "" {
			control += "Depends: " + p.depends + "\n"
		}
		deb := filepath.Join(repo, p.name+".deb")
		p.build(t, control, deb)
		b, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&index, "%sFilename: ./%s.deb\nSize: %d\nSHA256: %x\n\n", control, p.name, len(b), sha256.Sum256(b))
	}
	if err := os.WriteFile(filepath.Join(repo, "Packages"), []byte(index.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return repo
}

// build packs the files.
func (p fakePackage) build(t *testing.T, control, deb string) {
	t.Helper()
	tree := t.TempDir()
	files := maps.Clone(p.files)
	files["DEBIAN/control"] = control
	for file, content := range files {
		path := filepath.Join(tree, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.Contains(file, "bin/") {
			mode = 0o755 | os.ModeSetuid // which must not come through
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", tree, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestFetchPackages(t *testing.T) {
	for name, c := range map[string]struct {
		packages []string
		remote   bool
	}{
		"over the network":       {mariadbPackages[0], true},
		"from a directory":       {mariadbPackages[0], false},
		"older Ubuntu's package": {mariadbPackages[2], true},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t, c.packages, "10.11.77")
			source := "file:" + repo
			if c.remote {
				srv := httptest.NewServer(http.FileServer(http.Dir(repo)))
				t.Cleanup(srv.Close)
				source = srv.URL
			}
			m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
			// Another source is broken, as somebody's third-party one often is.
			m.aptSources("deb [trusted=yes] " + source + " ./\ndeb http://127.0.0.2:9/gone ./")
			// A hook of the machine fails.
			aptOfMachine(t, `APT::Update::Post-Invoke { "exit 1"; };`)
			s := m.mustFind("")
			dir := filepath.Join(m.Places.Servers(), "mariadb-10.11.77")
			want := &server.Server{
				Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11, Patch: 77}, Origin: "apt", Dir: dir,
				Daemon: aptProgram(dir, "sbin/mariadbd"), Client: aptProgram(dir, "bin/mariadb"),
				Dumper: aptProgram(dir, "bin/mariadb-dump"), LogReader: aptProgram(dir, "bin/mariadb-binlog"),
				Share: dir + "/usr/share/mysql", Messages: dir + "/usr/share/mysql", Charsets: dir + "/usr/share/mysql/charsets",
				Plugins: dir + "/usr/lib/mysql/plugin",
			}
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if fi, err := os.Stat(s.Daemon.Path()); err != nil || fi.Mode() != 0o755 {
				t.Errorf("mode %v, %v", fi.Mode(), err)
			}
			if _, err := os.Stat(filepath.Join(dir, "usr/share/doc")); err == nil {
				t.Error("documents are not needed")
			}
			if diff := cmp.Diff([]string{"mariadb-10.11.77"}, m.cacheNames()); diff != "" {
				t.Errorf("cache: %s", diff)
			}
		})
	}
}

// aptOfMachine is a line of the machine's own configuration, read before all other.
func aptOfMachine(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "apt.conf")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("APT_CONFIG", path)
}

// TestFetchPackagesSigned: packages that the machine's configuration accepts unsigned
// are refused, and so is a mirror whose certificate no known authority has signed.
func TestFetchPackagesSigned(t *testing.T) {
	repo := repository(t, mariadbPackages[0], "10.11.77")
	handler := http.FileServer(http.Dir(repo))
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // of what apt refuses
	host := secure.Listener.Addr().(*net.TCPAddr).IP.String()
	for name, c := range map[string]struct{ source, conf string }{
		"not signed": {"deb " + plain.URL + " ./", `APT::Get::AllowUnauthenticated "true"; Acquire::AllowInsecureRepositories "true"; Acquire::AllowWeakRepositories "true";
			Acquire::AllowDowngradeToInsecureRepositories "true"; Binary::apt-get::APT::Get::AllowUnauthenticated "true"; APT::Get::Force-Yes "true";`},
		"not whom it says": {"deb [trusted=yes] " + secure.URL + " ./", `Acquire::https::Verify-Peer "false"; Acquire::https::Verify-Host "false";`},
		"nor one host":     {"deb [trusted=yes] " + secure.URL + " ./", "Acquire::https::" + host + `::Verify-Peer "false"; Acquire::https::` + host + `::Verify-Host "false";`},
	} {
		t.Run(name, func(t *testing.T) {
			m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
			aptOfMachine(t, c.conf)
			m.aptSources(c.source)
			if s, err := m.Find(t.Context(), ""); err == nil {
				t.Errorf("it was taken: %+v", s)
			}
			// The negative control: it is there to be taken.
			m = fetching(t, "http://127.0.0.1:9/", jarOf(nil))
			m.aptSources(c.source)
			m.apt += c.conf + "\n"
			if _, err := m.Find(t.Context(), ""); err != nil {
				t.Errorf("told to take it: %v", err)
			}
		})
	}
}

// TestFetchPackagesByProxy: the machine's proxy is used.
func TestFetchPackagesByProxy(t *testing.T) {
	repo := repository(t, mariadbPackages[0], "10.11.77")
	var asked atomic.Int32
	files := http.FileServer(http.Dir(repo))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
	aptOfMachine(t, fmt.Sprintf("Acquire::http::Proxy %q;", proxy.URL))
	m.aptSources("deb [trusted=yes] http://nowhere.invalid/ ./")
	if s := m.mustFind(""); s.Origin != "apt" || asked.Load() == 0 {
		t.Errorf("%+v, with %d requests to the proxy", s, asked.Load())
	}
}

func TestFetchPackagesOfAnotherSeries(t *testing.T) {
	repo := repository(t, mariadbPackages[0], "10.11.77")
	content := fakeJar(t, fakeServer("11.4.5"))
	m := fetching(t, serveBytes(t, content).URL, jarOf(content))
	m.aptSources("deb [trusted=yes] file:" + repo + " ./")
	if s := m.mustFind("mariadb:11.4"); s.Origin != "maven" {
		t.Errorf("%+v", s)
	}
	if s := m.mustFind("mariadb:10.11"); s.Origin != "apt" {
		t.Errorf("%+v", s)
	}
	_, err := m.Find(t.Context(), "mariadb:11.8")
	if err == nil || !strings.Contains(err.Error(), "the distribution has 10.11.77") || strings.Contains(err.Error(), "no network") {
		t.Errorf("%v", err)
	}
}

// A package that was changed on the way must not get into the cache.
func TestFetchPackagesChecksum(t *testing.T) {
	repo := repository(t, mariadbPackages[0], "10.11.77")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile(filepath.Join(repo, filepath.Clean("/"+r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".deb") {
			b[len(b)/2] ^= 1
		}
		w.Write(b)
	}))
	t.Cleanup(srv.Close)
	m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
	m.aptSources("deb [trusted=yes] " + srv.URL + " ./")
	m.fails(ErrNoServer, "apt: download packages", "Hash Sum mismatch")
}

// A fetch that is given up in the middle of apt's work ends at once, and so do
// apt's own children.
func TestFetchPackagesEndsWithContext(t *testing.T) {
	needTools(t, "apt-get", "dpkg-deb")
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // apt hangs up when it ends
	}))
	t.Cleanup(srv.Close)
	m := fetching(t, srv.URL, jarOf(nil))
	m.aptSources("deb [trusted=yes] " + srv.URL + " ./")
	began := time.Now()
	if _, err := m.Find(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("took %s", took)
	}
	if left := m.cacheNames(); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// aptProgram is a program of a fetched package that needs no loader.
func aptProgram(dir, name string) server.Program {
	return server.Program{Argv: []string{dir + "/usr/" + name}, Env: []string{"OPENSSL_CONF=/dev/null"}}
}
