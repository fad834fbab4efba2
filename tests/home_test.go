package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// testHome is a home for tests that are Go programs, as scripts have one: the real
// binary, the shared server, and at the end nothing may be left.
type testHome struct {
	*scriptHome
	t   *testing.T
	srv *server.Server
	// host is the network namespace that stands for a machine of its own, "" for this one.
	host string
	// env is set besides what every command gets.
	env []string
}

// newTestHome makes a home that is cleared away with the test.
func newTestHome(t *testing.T) *testHome {
	t.Helper()
	return newTestHomeOf(t, wanted())
}

// newTestHomeOf is newTestHome with another server.
func newTestHomeOf(t *testing.T, want string) *testHome {
	t.Helper()
	srv := servertest.Find(t, want)
	dir, err := os.MkdirTemp("", "rh-")
	if err != nil {
		t.Fatal(err)
	}
	places, err := host.FindPlaces(dir, os.Geteuid(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	h := &testHome{scriptHome: &scriptHome{home: dir, places: places, t: t}, t: t}
	t.Cleanup(h.close)
	if err := populate(places, dir, srv); err != nil {
		t.Fatal(err)
	}
	f := servertest.Finder(t)
	f.Places, f.NoFetch = places, true
	if h.srv, err = f.Find(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	return h
}

// during makes a subtest the one that fails until it ends.
func (h *testHome) during(t *testing.T) {
	outer := h.t
	h.t = t
	t.Cleanup(func() { h.t = outer })
}

// daemon is the path of the shared server, for --server: one that is installed may
// be of another version.
func (h *testHome) daemon() string { return h.srv.Daemon.Argv[len(h.srv.Daemon.Argv)-1] }

// command is ramaria with arguments.
func (h *testHome) command(args ...string) *exec.Cmd {
	argv := append([]string{filepath.Join(binDir, "ramaria")}, args...)
	if h.host != "" { // not by ip, which would hide what is mounted
		argv = append([]string{"nsenter", "--net=/run/netns/" + h.host}, argv...)
	}
	cmd := exec.CommandContext(h.t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume, "RAMARIA_SERVER="+series(h.srv))
	cmd.Env = append(cmd.Env, h.env...)
	return cmd
}

// try runs ramaria and returns what it wrote to stdout and stderr.
func (h *testHome) try(args ...string) (out, talk string, err error) {
	cmd := h.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return strings.TrimSpace(o.String()), strings.TrimSpace(e.String()), err
}

// ramaria runs a command that must succeed, and returns its stdout.
func (h *testHome) ramaria(args ...string) string {
	h.t.Helper()
	out, talk, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("ramaria %s: %v\n%s%s", strings.Join(args, " "), err, talk, h.logs())
	}
	return out
}

// logs are the ends of what the servers of all instances have logged: their volumes go with the
// test.
func (h *testHome) logs() string {
	const most = 6000
	var b strings.Builder
	for _, root := range []string{h.places.Shm, filepath.Join(h.places.Mounts, "*")} {
		found, _ := filepath.Glob(filepath.Join(root, "instances", "*", "server.log"))
		for _, path := range found {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "\n%s (%v):\n%s", path, err, text[max(0, len(text)-most):])
		}
	}
	return b.String()
}
