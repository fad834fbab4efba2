// Package servertest gives tests real servers. What has to be fetched is fetched
// once and kept in one directory for all tests of all packages and later runs.
package servertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// EnvDir names the directory of servers that tests share; EnvOffline=1 says that
// there is no network, so that tests which need one are skipped. EnvServer chooses one of
// Servers, as --server does. EnvQuick=1 says that this is `make test`, and not `make test-all`.
const (
	EnvDir     = "RAMARIA_TEST_SERVERS"
	EnvOffline = "RAMARIA_OFFLINE"
	EnvServer  = "RAMARIA_TEST_SERVER"
	EnvQuick   = "RAMARIA_TEST_QUICK"
)

// Servers are those that everything must work on. The first runs all tests, as root and
// as an ordinary user; the others those that are about servers, as root.
var Servers = []string{"mariadb:10.11", "mariadb:11.4", "mariadb:11.8", "mysql:9.7"}

// Flavoured is a text of statements without the lines that are for the other flavour: those
// that end with "-- mariadb" or "-- mysql".
func Flavoured(srv *server.Server, text string) string {
	other := map[server.Flavour]string{server.MariaDB: "-- mysql", server.MySQL: "-- mariadb"}[srv.Flavour]
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(strings.TrimSpace(line), other) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Quick reports whether the run is to show every behaviour once: `make test`.
func Quick() bool { return os.Getenv(EnvQuick) == "1" }

// Each runs f as a subtest on each of Servers, or on the one that EnvServer chooses; in a quick
// run on the first of each flavour.
func Each(t *testing.T, f func(t *testing.T, want string)) {
	t.Helper()
	each(t, thinned(chosen(), false), f)
}

// EachAlways is Each that a quick run does not thin: for what differs between versions.
func EachAlways(t *testing.T, f func(t *testing.T, want string)) {
	t.Helper()
	each(t, chosen(), f)
}

// EachFrom is Each on the servers of one flavour from a version on, "mariadb:11.7": of what
// others do not have there is nothing to test. A quick run takes the last of them.
func EachFrom(t *testing.T, first string, f func(t *testing.T, want string)) {
	t.Helper()
	flavour, from := split(first)
	list := slices.DeleteFunc(chosen(), func(want string) bool {
		of, version := split(want)
		return of != flavour || version.Compare(from) < 0
	})
	if len(list) == 0 {
		t.Skip("SKIPPED: only " + first + " and later have this")
	}
	each(t, thinned(list, true), f)
}

// thinned is the first server of each flavour, or the last, if this is a quick run.
func thinned(list []string, last bool) []string {
	if !Quick() {
		return list
	}
	var thin []string
	for _, want := range list {
		of, _ := split(want)
		i := slices.IndexFunc(thin, func(other string) bool { flavour, _ := split(other); return flavour == of })
		switch {
		case i < 0:
			thin = append(thin, want)
		case last:
			thin[i] = want
		}
	}
	return thin
}

func chosen() []string {
	if want := os.Getenv(EnvServer); want != "" {
		return []string{want}
	}
	return slices.Clone(Servers)
}

// split takes a text as --server takes it apart; no version is the least.
func split(want string) (flavour string, v server.Version) {
	flavour, text, _ := strings.Cut(want, ":")
	v, _ = server.ParseVersion(text)
	return flavour, v
}

func each(t *testing.T, list []string, f func(t *testing.T, want string)) {
	t.Helper()
	for _, want := range list {
		t.Run(want, func(t *testing.T) {
			if want != chosen()[0] && os.Geteuid() != 0 {
				t.Skip("SKIPPED, UNTESTED: other servers than " + Servers[0] + " run in root's tests only")
			}
			f(t, want)
		})
	}
}

// Directory is the shared directory, which may not exist yet. Root's is not below root's home,
// since the accounts that servers run under cannot enter that.
func Directory() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return "/var/cache/ramaria-test/servers", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache directory: %w", err)
	}
	return filepath.Join(cache, "ramaria-test", "servers"), nil
}

// Dir is Directory for a test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := Directory()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ToolsDir lies in the shared directory, where it does not count as a server.
const ToolsDir = ".tools"

// Link makes the shared directory dir the cache of fetched servers, and tools, of p.
func Link(dir string, p host.Places) error {
	return errors.Join(os.MkdirAll(filepath.Join(dir, ToolsDir), 0o755), os.MkdirAll(p.Cache, 0o755),
		os.Symlink(dir, p.Servers()), os.Symlink(filepath.Join(dir, ToolsDir), filepath.Join(p.Cache, "tools")))
}

// Share is Link for a test.
func Share(t testing.TB, p host.Places) {
	t.Helper()
	if err := Link(Dir(t), p); err != nil {
		t.Fatal(err)
	}
}

// Finder returns a finder over the shared directory that sees no installed server.
// The accounts that root's servers run under can reach what it finds.
func Finder(t testing.TB) *software.Finder {
	t.Helper()
	home, err := os.MkdirTemp("", "rf-") // above t.TempDir is one that only its owner can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chmod(home, 0o711); err != nil {
		t.Fatal(err)
	}
	p := host.Places{Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state")}
	Share(t, p)
	return &software.Finder{
		Host:     host.Host{Root: filepath.Join(home, "root")},
		Places:   p,
		Memo:     memo.Store{Dir: filepath.Join(p.State, "memo")},
		Progress: t.Output(),
		Getenv: func(name string) string {
			if name == "PATH" {
				return ""
			}
			return os.Getenv(name)
		},
	}
}

// Find returns a real server for want ("", "mariadb:11.4"), fetched if need be. One that
// cannot be had fails the test; only where there is no network is it skipped.
func Find(t testing.TB, want string) *server.Server {
	t.Helper()
	s, err := Look(t, want)
	if err != nil && offline() {
		t.Skipf("SKIPPED, UNTESTED: %s=1 and no server in %s: %v", EnvOffline, Dir(t), err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Look is Find for a test that can do without.
func Look(t testing.TB, want string) (*server.Server, error) {
	t.Helper()
	f := Finder(t)
	f.NoFetch = f.NoFetch || offline()
	return f.Find(t.Context(), want)
}

func offline() bool { return os.Getenv(EnvOffline) == "1" }
