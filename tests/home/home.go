// Package home gives tests of the whole program a home of their own: a binary of this source, and
// the servers that all tests share.
package home

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// EnvBinary names a ramaria to test instead of one built from this source, as in package tests.
const EnvBinary = "RAMARIA_TEST_BINARY"

var binary = sync.OnceValues(func() (string, error) {
	if ready := os.Getenv(EnvBinary); ready != "" {
		return ready, nil
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("ramaria-random-%d", os.Getpid()))
	return path, servertest.Build(path)
})

// Main runs the tests of a package, and removes the binary.
func Main(m *testing.M) (code int) {
	code = m.Run()
	if path, err := binary(); err == nil && os.Getenv(EnvBinary) == "" {
		os.Remove(path)
	}
	return code
}

// Home is a home of Ramaria.
type Home struct {
	Dir    string
	Places host.Places
	// Env is what commands get besides: "RAMARIA_VOLUME=shm".
	Env     []string
	program string
}

// New makes a home for instances of one server. Remove ends it.
func New(t *testing.T, want string, env ...string) *Home {
	t.Helper()
	servertest.Find(t, want) // it is in the shared directory then
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rz-")
	if err != nil {
		t.Fatal(err)
	}
	places, err := host.FindPlaces(dir, os.Geteuid(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // accounts that root's servers run under pass through it
		t.Fatal(err)
	}
	servertest.Share(t, places)
	return &Home{Dir: dir, Places: places, Env: append(env, "RAMARIA_SERVER="+want), program: program}
}

// Command is ramaria with arguments.
func (h *Home) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.program, args...)
	cmd.Env = append(append(os.Environ(), "RAMARIA_HOME="+h.Dir, "RAMARIA_NO_FETCH=1", "RAMARIA_API="), h.Env...)
	return cmd
}

// Ramaria runs a command, and returns what it wrote to stdout.
func (h *Home) Ramaria(args ...string) (string, error) {
	cmd := h.Command(args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ramaria %v: %w\n%s%s", args, err, out.String(), talk.String())
	}
	return out.String(), nil
}

// API is the socket of an instance's API.
func (h *Home) API(name string) (string, error) {
	text, err := h.Ramaria("env", name)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(text, "RAMARIA_API='")
	socket, _, _ := strings.Cut(rest, "'")
	return socket, nil
}

// Remove removes all instances, and the home.
func (h *Home) Remove() error {
	_, err := h.Ramaria("down", "--all", "--rm")
	return errors.Join(err, os.RemoveAll(h.Places.Shm), os.RemoveAll(h.Dir))
}
