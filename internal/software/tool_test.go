package software

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// fakeTool is a tool that leaves out a package and needs data and an environment.
var fakeTool = Tool{
	Program: "mkfs.fake", Package: "fakeprogs", data: "fake", without: []string{"fake-python"},
	env: []string{"FAKE=" + toolRoot + "/usr/share/fake/?.lua;;"}, check: []string{"-V"},
}

// fakeToolPackages hold it; its program runs only with its environment.
func fakeToolPackages() []fakePackage {
	return []fakePackage{{
		name: "fakeprogs", version: "2:6.1.0-1+b1", depends: "fake-python:any, fakelib (>= 1)",
		files: map[string]string{
			"sbin/mkfs.fake":          "#!/bin/sh\n[ \"$1\" = -V ] && test -f \"${FAKE%%\\?*}x.lua\"\n",
			"usr/sbin/fake_scrub":     "not needed",
			"usr/share/fake/x.lua":    "x",
			"usr/share/doc/fake/x.gz": "not needed",
		},
	}, {
		name: "fakelib", version: "1.0", files: map[string]string{"usr/lib/libfake.so.1": "x"},
	}}
}

// toolMachine is a machine whose packages come from a repository, and counts what is
// downloaded of it.
func toolMachine(t *testing.T, packages ...fakePackage) (m *machine, downloads *atomic.Int32) {
	t.Helper()
	repo := repositoryOf(t, packages...)
	downloads = &atomic.Int32{}
	files := http.FileServer(http.Dir(repo))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".deb") {
			downloads.Add(1)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	m = newMachine(t)
	m.NoFetch = false
	m.aptSources("deb [trusted=yes] " + srv.URL + " ./")
	return m, downloads
}

func (m *machine) mustTool() server.Program {
	m.t.Helper()
	p, err := m.Tool(m.t.Context(), fakeTool)
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// failsTool asks for the tool in vain and checks the error.
func (m *machine) failsTool(texts ...string) {
	m.t.Helper()
	_ = m.toolFailure(texts...)
}

// toolFailure is failsTool for an error that its caller looks at.
func (m *machine) toolFailure(texts ...string) error {
	m.t.Helper()
	p, err := m.Tool(m.t.Context(), fakeTool)
	if !errors.Is(err, ErrNoTool) {
		m.t.Fatalf("%v, %v", p, err)
	}
	for _, text := range append(texts, "\nhint: ") {
		if !strings.Contains(err.Error(), text) {
			m.t.Errorf("the error lacks %q:\n%v", text, err)
		}
	}
	if left := namesIn(m.t, m.tools()); left != nil {
		m.t.Errorf("left behind: %v", left)
	}
	return err
}

func TestToolInstalled(t *testing.T) {
	for _, dir := range []string{"usr/bin", "sbin", "usr/sbin", "usr/local/sbin"} {
		m := newMachine(t)
		m.file(dir+"/mkfs.fake", "", 0o755)
		want := server.Program{Argv: []string{filepath.Join(m.root, dir, "mkfs.fake")}}
		if diff := cmp.Diff(want, m.mustTool()); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
}

func TestToolFetched(t *testing.T) {
	m, downloads := toolMachine(t, fakeToolPackages()...)
	var talk bytes.Buffer
	m.Progress = &talk
	for _, name := range []string{".partial-killed", "mkfs.fake-6.1.0-1+b1"} { // of killed fetches, or broken
		if err := makeOpenDir(filepath.Join(m.tools(), name)); err != nil {
			t.Fatal(err)
		}
	}
	got := m.mustTool()
	dir := filepath.Join(m.tools(), "mkfs.fake-6.1.0-1+b1")
	want := server.Program{Argv: []string{dir + "/sbin/mkfs.fake"}, Env: []string{"FAKE=" + dir + "/usr/share/fake/?.lua;;"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, want := range map[string]bool{
		"usr/share/fake/x.lua": true, "usr/lib/libfake.so.1": true, "tool.json": true,
		"usr/sbin/fake_scrub": false, "usr/share/doc": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"mkfs.fake-6.1.0-1+b1"}, namesIn(t, m.tools())); diff != "" {
		t.Errorf("cache: %s", diff)
	}
	for _, text := range []string{"fetching mkfs.fake (apt) into " + m.tools(), "done in "} {
		if !strings.Contains(talk.String(), text) {
			t.Errorf("people were not told %q:\n%s", text, talk.String())
		}
	}
	// From now on it is there, wherever the cache is moved to.
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(m.Places.Cache, moved); err != nil {
		t.Fatal(err)
	}
	m.Places.Cache, m.NoFetch = moved, true
	rebaseProgram(want, dir, filepath.Join(m.tools(), "mkfs.fake-6.1.0-1+b1"))
	if diff := cmp.Diff(want, m.mustTool()); diff != "" {
		t.Errorf("moved: -want +got:\n%s", diff)
	}
	if n := downloads.Load(); n != 2 {
		t.Errorf("%d packages were downloaded", n)
	}
}

// Without being told that a package is there, apt cannot plan: the control of
// TestToolFetched.
func TestToolFetchedWithAllPackages(t *testing.T) {
	m, _ := toolMachine(t, fakeToolPackages()...)
	all := fakeTool
	all.without = nil
	if p, err := m.Tool(t.Context(), all); !errors.Is(err, ErrNoTool) || !strings.Contains(err.Error(), "apt: plan packages") {
		t.Errorf("%v, %v", p, err)
	}
}

func TestToolFetchedOnceAtOnce(t *testing.T) {
	m, downloads := toolMachine(t, fakeToolPackages()...)
	var wg sync.WaitGroup
	for range 3 {
		f := *m.Finder // a lock of its own, as another process has
		wg.Go(func() {
			if _, err := f.Tool(t.Context(), fakeTool); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := downloads.Load(); n != 2 {
		t.Errorf("%d packages were downloaded, not 2", n)
	}
	if diff := cmp.Diff([]string{"mkfs.fake-6.1.0-1+b1"}, namesIn(t, m.tools())); diff != "" {
		t.Errorf("cache: %s", diff)
	}
}

func TestToolMissing(t *testing.T) {
	t.Run("no apt", func(t *testing.T) {
		m := newMachine(t)
		m.NoFetch = false
		m.noApt()
		m.failsTool("find mkfs.fake: it is not installed, and it could not be fetched", "apt: not available",
			"sudo apt-get install fakeprogs (", "dnf install fakeprogs", "apk add fakeprogs", "pacman -S fakeprogs")
		m.file("etc/os-release", "ID=fedora\n", 0o644)
		m.failsTool("hint: sudo dnf install fakeprogs")
	})
	t.Run("fetching is off", func(t *testing.T) {
		m := newMachine(t)
		m.failsTool("fetching is switched off")
		m.NoFetch = false
		m.env[EnvNoFetch] = "1"
		m.failsTool("fetching is switched off")
	})
	t.Run("no network", func(t *testing.T) {
		needTools(t, "apt-get", "dpkg-deb")
		m := newMachine(t)
		m.NoFetch = false
		m.aptSources("deb http://" + closedPort(t) + "/debian ./")
		m.failsTool("since there seems to be no network")
	})
	t.Run("no such package", func(t *testing.T) {
		m, _ := toolMachine(t, fakePackage{name: "other", version: "1", files: map[string]string{"usr/bin/other": ""}})
		m.failsTool("apt knows no package fakeprogs")
	})
	t.Run("it does not run", func(t *testing.T) {
		packages := fakeToolPackages()
		packages[0].files["sbin/mkfs.fake"] = "#!/bin/sh\necho broken >&2; exit 1\n"
		m, _ := toolMachine(t, packages...)
		m.failsTool("verify: mkfs.fake -V: ", "broken")
	})
	t.Run("disk full", func(t *testing.T) {
		needTools(t, "apt-get", "dpkg-deb")
		m := newMachine(t)
		m.NoFetch = false
		smallCache(t, m.tools(), "1m")
		var room *NoRoomError
		if err := m.toolFailure("disk full: ", "200.0 MB are needed"); !errors.As(err, &room) {
			t.Errorf("%#v", err)
		}
	})
	t.Run("no cache", func(t *testing.T) {
		m := newMachine(t)
		m.NoFetch = false
		m.file("home", "a file", 0o644)
		m.Places.Cache = filepath.Join(m.root, "home/cache")
		if _, err := m.Tool(t.Context(), fakeTool); !errors.Is(err, ErrNoTool) || !strings.Contains(err.Error(), "make cache: ") || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%v", err)
		}
	})
	t.Run("the caller gave up", func(t *testing.T) {
		m, _ := toolMachine(t, fakeToolPackages()...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Tool(ctx, fakeTool); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNoTool) {
			t.Errorf("%v", err)
		}
	})
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
