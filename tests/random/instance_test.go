package random

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// envBinary names a ramaria to test instead of one built from this source, as in package tests.
const envBinary = "RAMARIA_TEST_BINARY"

// definitions is how many definitions of tables the server keeps: fewer than there are, so
// that some are always read again. It is the least that both flavours take.
const definitions = "table_definition_cache=400"

// instance is a real instance in a home of its own.
type instance struct {
	*client.Client
	software software
	endpoint client.Endpoint
	// db is the application's account, which sees everything.
	db *sql.DB
	// catalogues are the tables of information_schema that it has.
	catalogues []string
	home       string
}

// maxKept is how many instances in which something failed are kept as they are: a long run must not
// fill the memory with them.
const maxKept = 5

var kept atomic.Int32

var binary = sync.OnceValues(func() (string, error) {
	if ready := os.Getenv(envBinary); ready != "" {
		return ready, nil
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("ramaria-random-%d", os.Getpid()))
	return path, servertest.Build(path)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil && os.Getenv(envBinary) == "" {
		os.Remove(path)
	}
	os.Exit(code)
}

// start starts an instance that ends with the test.
func start(t *testing.T, want string) *instance {
	t.Helper()
	servertest.Find(t, want) // it is in the shared directory then
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "rz-")
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
	ramaria := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "RAMARIA_HOME="+home, "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME=shm", "RAMARIA_SERVER="+want, "RAMARIA_API=")
		var out, talk bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &talk
		if err := cmd.Run(); err != nil {
			t.Errorf("ramaria %v: %v\n%s%s", args, err, out.String(), talk.String())
		}
		return out.String()
	}
	t.Cleanup(func() {
		if t.Failed() {
			ramaria("down", "--all")
			if kept.Add(1) <= maxKept {
				t.Logf("the instance is kept: RAMARIA_HOME=%s", home)
				return
			}
			ramaria("down", "--all", "--rm")
			if err := os.RemoveAll(places.Shm); err != nil {
				t.Errorf("clear away: %v", err)
			}
			t.Logf("%d instances are kept already: of this one only %s", maxKept, home)
			return
		}
		ramaria("down", "--all", "--rm")
		if err := errors.Join(os.RemoveAll(places.Shm), os.RemoveAll(home)); err != nil {
			t.Errorf("clear away: %v", err)
		}
	})
	ramaria("up", "main", "--set", definitions)
	socket := value(ramaria("env", "main"), "RAMARIA_API='")
	if t.Failed() {
		t.FailNow()
	}
	in := &instance{Client: client.New(socket), home: home}
	t.Cleanup(in.Close)
	status, err := in.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in.software, in.endpoint = newSoftware(status.Server.Flavour, status.Server.Version), status.Endpoint
	if in.db, err = in.open(in.endpoint.User, in.endpoint.Password, "", "binary"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.db.Close() })
	if err := in.findCatalogues(t.Context()); err != nil {
		t.Fatal(err)
	}
	return in
}

// value is what stands behind a word, up to the next quote.
func value(text, word string) string {
	_, rest, _ := bytes.Cut([]byte(text), []byte(word))
	v, _, _ := bytes.Cut(rest, []byte("'"))
	return string(v)
}

// open makes connections of an account over the socket.
func (in *instance) open(user, password, database, charset string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "unix", in.endpoint.Socket, database
	c.Logger = &mysql.NopLogger{}
	c.AllowNativePasswords = true
	if err := c.Apply(mysql.Charset(charset, "")); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
