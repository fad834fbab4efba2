package ramariatest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// endTimeout is for how long what is done at the end of a test may take.
const endTimeout = time.Minute

// New returns a database for this test alone, with the content of its template. When the test
// ends, open transactions are rolled back, the connections closed, and the database is put
// back. If there is no database to be had, the test fails at once.
//
// New stops waiting when t.Context ends.
func New(t testing.TB, opts ...Option) *sql.DB {
	t.Helper()
	return NewDatabase(t, opts...).DB
}

// Database is the database of one test. Its account can do anything in it, and nothing in
// others. Name, Host, Port, Socket, User, Password and URL,
// mysql://USER:PASSWORD@HOST:PORT/NAME, are for programs that the test runs.
type Database struct {
	client.Database
	// DB is the pool of connections that New returns.
	DB *sql.DB
	// DSN is for sql.Open("mysql", DSN), with the parameters of Params. The test must close
	// connections that it opens with it, and roll them back before Reset.
	DSN string

	t     testing.TB
	lease *lease
	pool  *pool
}

// NewDatabase is New for a test that needs more than a *sql.DB: a DSN, a URL for another
// program, or Reset.
func NewDatabase(t testing.TB, opts ...Option) *Database {
	t.Helper()
	o := newOptions(opts)
	d, err := shared.open(t, o)
	if err != nil {
		t.Fatalf("ramariatest: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), endTimeout)
		defer cancel()
		d.close(ctx, o.keep)
	})
	return d
}

// Reset puts the database back in the middle of a test. An open transaction is rolled back, and
// its sql.Tx then returns an error that matches ErrReset. What DB does from then on it does on new
// connections, without variables, temporary tables or locks of those before. A sql.Conn that the
// test holds stays open, and keeps its session. If the reset fails, so does the test.
func (d *Database) Reset() {
	d.t.Helper()
	if err := d.reset(d.t.Context()); err != nil {
		d.t.Fatalf("ramariatest: %v", err)
	}
}

func (d *Database) reset(ctx context.Context) error {
	d.t.Helper()
	d.pool.settle(ctx)
	r, err := d.lease.all.api.ResetDatabase(ctx, d.Name, client.RestoreCounters)
	if err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		d.t.Logf("ramariatest: reset of %s: %s", d.Name, warning)
	}
	return nil
}

// close ends the test's use of the database.
func (d *Database) close(ctx context.Context, keep bool) {
	d.t.Helper()
	d.pool.close(ctx)
	if keep && d.t.Failed() {
		d.keep(ctx)
		return
	}
	err := d.reset(ctx)
	if err != nil {
		err = fmt.Errorf("%w (and so gave it back: %v)", err, d.lease.drop(ctx)) //nolint:errorlint // the first is the cause
	} else {
		err = d.lease.all.put(ctx, d.lease)
	}
	if err != nil {
		// Only the next test would suffer, and that gets another database.
		d.t.Logf("ramariatest: end of %s: %v", d.Name, err)
	}
}

func (d *Database) keep(ctx context.Context) {
	d.t.Helper()
	d.lease.end()
	if _, err := d.lease.all.api.KeepDatabase(ctx, d.Name); err != nil {
		d.t.Logf("ramariatest: keep %s, as the test failed: %v", d.Name, err)
		return
	}
	d.t.Logf("ramariatest: the test failed, so its database is kept, as it is now:\n\t%s\n\t%s\nhint: ramaria db drop %s, when it is no longer needed", d.URL, d.DSN, d.Name)
}

// process is what the tests of a process share.
type process struct {
	leases *once[*leases]

	mu        sync.Mutex
	templates map[string]*once[string]
}

var shared = newProcess()

func newProcess() *process {
	return &process{leases: newOnce[*leases](), templates: map[string]*once[string]{}}
}

func (p *process) open(t testing.TB, o options) (*Database, error) {
	ctx := t.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ls, err := p.leases.do(ctx, func() (*leases, error) {
		socket, err := findSocket(ctx)
		if err != nil {
			return nil, err
		}
		return &leases{api: client.New(socket)}, nil
	})
	if err != nil {
		return nil, err
	}
	template, err := p.template(o).do(ctx, func() (string, error) { return ensureTemplate(ctx, ls.api, o) })
	if err != nil {
		return nil, err
	}
	l, err := ls.take(ctx, template, o.ttl)
	if err != nil {
		return nil, err
	}
	pool, err := newPool(l.Database, o.params)
	if err != nil {
		return nil, fmt.Errorf("%w (gave the database back: %v)", err, l.drop(ctx)) //nolint:errorlint // the first is the cause
	}
	return &Database{Database: l.Database, DB: pool.db, DSN: pool.dsn, t: t, lease: l, pool: pool}, nil
}

func (p *process) template(o options) *once[string] {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := o.identity()
	if p.templates[id] == nil {
		p.templates[id] = newOnce[string]()
	}
	return p.templates[id]
}

// release gives back what the process has.
func (p *process) release(ctx context.Context) error {
	// An error was told to every test; there is nothing then.
	ls, _ := p.leases.do(ctx, func() (*leases, error) { return nil, nil })
	if ls == nil {
		return nil
	}
	defer ls.api.Close()
	return ls.release(ctx)
}

// Main runs the tests of a package and then releases the databases that wait for further tests,
// so that tests of other packages can have them at once. Call it in TestMain. It returns the
// result of m.Run, which TestMain need not pass on.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := shared.release(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ramariatest: give back databases:", strings.TrimSpace(err.Error()))
	}
	return code
}
