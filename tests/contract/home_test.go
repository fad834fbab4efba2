package contract

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// instanceName is the instance under test.
const instanceName = "contract"

// envBinary names a ramaria to test instead of one built from this source, as in package tests.
const envBinary = "RAMARIA_TEST_BINARY"

// instance starts the real program in a home of its own, and returns a client of the
// instance that runs there until the test ends. flags are those of up.
func instance(t *testing.T, flags ...string) *client.Client {
	t.Helper()
	want := cmp.Or(os.Getenv(servertest.EnvServer), servertest.Servers[0])
	servertest.Find(t, want) // it is in the shared directory then
	home, err := os.MkdirTemp("", "rc-")
	if err != nil {
		t.Fatal(err)
	}
	places, err := host.FindPlaces(home, os.Geteuid(), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil { // accounts that root's servers run under pass through it
		t.Fatal(err)
	}
	servertest.Share(t, places)
	binary := build(t, home)
	ramaria := func(args ...string) string {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "RAMARIA_HOME="+home, "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME=shm", "RAMARIA_SERVER="+want, "RAMARIA_API=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("ramaria %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			ramaria("down", "--all")
			t.Logf("the files are kept in %s and %s", home, places.Shm)
			return
		}
		ramaria("down", "--all", "--rm")
		if err := errors.Join(os.RemoveAll(places.Shm), os.RemoveAll(home)); err != nil {
			t.Errorf("clear away: %v", err)
		}
	})
	ramaria(append([]string{"up", instanceName}, flags...)...)
	ramaria("sql", instanceName, "-e", "CREATE DATABASE shop; CREATE DATABASE rest; CREATE TABLE shop.visit (id INT PRIMARY KEY, note TEXT); INSERT INTO shop.visit VALUES (1, 'one')")
	_, socket, _ := strings.Cut(ramaria("env", instanceName), "RAMARIA_API='")
	socket, _, _ = strings.Cut(socket, "'")
	if t.Failed() {
		t.FailNow()
	}
	c := client.New(socket)
	t.Cleanup(c.Close)
	return c
}

// build returns the path of the program.
func build(t *testing.T, dir string) string {
	t.Helper()
	if ready := os.Getenv(envBinary); ready != "" {
		return ready
	}
	binary := filepath.Join(dir, "ramaria")
	if err := servertest.Build(binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// forward makes a Unix socket reachable at a port of the loopback device, byte for byte,
// until the test ends: Schemathesis speaks TCP. It returns the URL.
func forward(t *testing.T, socket string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context() // it ends before Cleanup begins
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // closed
			}
			connections.Go(func() { join(ctx, from, socket) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		connections.Wait()
	})
	return "http://" + l.Addr().String()
}

// join connects a connection with a socket until one of the two, or ctx, ends.
func join(ctx context.Context, from net.Conn, socket string) {
	to, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		from.Close()
		return
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	var copies sync.WaitGroup
	for _, c := range [][2]net.Conn{{from, to}, {to, from}} {
		copies.Go(func() {
			defer cancel()
			_, _ = io.Copy(c[0], c[1]) // an end is an end
		})
	}
	<-both.Done()
	from.Close()
	to.Close()
	copies.Wait()
}
