package random

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// definitions is how many definitions of tables the server keeps: fewer than there are, so
// that some are always read again. It is the least that both flavours take.
const definitions = "table_definition_cache=400"

// instance is a real instance in a home of its own.
type instance struct {
	*client.Client
	software grammar.Software
	endpoint client.Endpoint
	// db is the application's account, which sees everything.
	db   *sql.DB
	home string
	// settings are those of the server that were drawn for this run.
	settings []string
}

// maxKept is how many instances in which something failed are kept as they are: a long run must not
// fill the memory with them.
const maxKept = 5

var kept atomic.Int32

func TestMain(m *testing.M) { os.Exit(home.Main(m)) }

// start starts an instance with some settings, which ends with the test.
func start(t *testing.T, want string, settings []string) *instance {
	t.Helper()
	h := home.New(t, want, "RAMARIA_VOLUME=shm")
	ramaria := func(args ...string) string {
		out, err := h.Ramaria(args...)
		if err != nil {
			t.Error(err)
		}
		return out
	}
	t.Cleanup(func() {
		if !t.Failed() {
			if err := h.Remove(); err != nil {
				t.Errorf("clear away: %v", err)
			}
			return
		}
		ramaria("down", "--all")
		if kept.Add(1) <= maxKept {
			t.Logf("the instance is kept: RAMARIA_HOME=%s", h.Dir)
			return
		}
		ramaria("down", "--all", "--rm")
		if err := os.RemoveAll(h.Places.Shm); err != nil {
			t.Errorf("clear away: %v", err)
		}
		t.Logf("%d instances are kept already: of this one only %s", maxKept, h.Dir)
	})
	ramaria(append([]string{"up", "main", "--set", definitions}, options(settings)...)...)
	socket, err := h.API("main")
	if err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	in := &instance{Client: client.New(socket), home: h.Dir, settings: settings}
	t.Cleanup(in.Close)
	status, err := in.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in.software, in.endpoint = grammar.NewSoftware(status.Server.Flavour, status.Server.Version), status.Endpoint
	var at struct{ Dir string }
	if err := json.Unmarshal([]byte(ramaria("status", "main", "--json")), &at); err != nil {
		t.Fatal(err)
	}
	if err := in.setGlobal(t.Context(), at.Dir); err != nil {
		t.Fatal(err)
	}
	if in.db, err = home.Open(in.endpoint, in.endpoint.User, in.endpoint.Password, "", "binary", calm...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.db.Close() })
	return in
}

// tellsTransactions reports whether the server tells which transactions are open. MySQL does so in
// performance_schema alone; without that a reset ends all connections of a lease.
func (in *instance) tellsTransactions() bool {
	return in.software.Flavour != "mysql" || !slices.Contains(in.settings, "performance_schema=OFF")
}

// look makes a picture of a database.
func (in *instance) look(ctx context.Context, database string, b picture.Blind) (picture.Picture, error) {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return picture.Look(ctx, conn, database, b)
}
