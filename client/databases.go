package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Template is a database that leases are cloned from.
type Template struct {
	// Name is the database's.
	Name string `json:"name"`
	// Made is when the database was made a template, or taken again, the last time.
	Made time.Time `json:"made"`
	// Tables is how many there are. After a restart of the server this, Bytes and Changed are
	// not known, and zero, until the template is used.
	Tables int `json:"tables"`
	// Bytes is the size of the data.
	Bytes int64 `json:"bytes"`
	// Family and Key are what it was asked for by; both are empty for a database that was made a
	// template by its name.
	Family string `json:"family,omitempty"`
	Key    string `json:"key,omitempty"`
	// Leases is how many databases are in use that were made from it.
	Leases int `json:"leases"`
	// Spare is how many are ready for those who ask.
	Spare int `json:"spare"`
	// Changed says why no clones can be made of it any more; it is empty if they can.
	Changed string `json:"changed,omitempty"`
}

// DatabaseRequest asks for a lease.
type DatabaseRequest struct {
	// Template is the name of the template whose clone it is to be.
	Template string `json:"template"`
	// Name of the new database: 1 to 64 of A-Z, a-z, 0-9 and _. One is chosen where it
	// is empty.
	Name string `json:"name,omitempty"`
	// TTLSeconds is for how long the database is kept after it was last used, in seconds, a
	// year at most; 0 is an hour.
	TTLSeconds float64 `json:"ttl_s,omitempty"`
	// WaitSeconds is for how long to wait while as many databases are in use as may be, in
	// seconds; 0 is a minute.
	WaitSeconds float64 `json:"wait_s,omitempty"`
}

// TemplateRequest asks for a template that is made of something.
type TemplateRequest struct {
	// Name is 1 to 64 of A-Z, a-z, 0-9 and _. The template's own name begins with it.
	Name string `json:"name"`
	// Key stands for all that the content depends on, such as a hash of the sources: 1 to
	// 1024 bytes. With another key it is another template.
	Key string `json:"key"`
	// WaitSeconds is for how long to wait while another process builds it, in seconds; 0 is
	// fifteen minutes.
	WaitSeconds float64 `json:"wait_s,omitempty"`
	// BuildSeconds is for how long the caller may build it, in seconds; 0 is ten minutes.
	// After that it is another's turn.
	BuildSeconds float64 `json:"build_s,omitempty"`
}

// The states of a TemplateClaim.
const (
	StateReady = "ready" // the template is there
	StateBuild = "build" // the caller is to fill the database, and PutTemplate ends that
)

// TemplateClaim is the answer to a TemplateRequest.
type TemplateClaim struct {
	State    string   `json:"state"`
	Template Template `json:"template"`
	// Database is the empty one that is to be filled, with the application's account, until
	// it expires; nil in StateReady.
	Database *Database `json:"database,omitempty"`
}

// Limits bound the pool of leases.
type Limits struct {
	// MaxDatabases is how many leases may be in use at a time. Those that are kept do not count.
	MaxDatabases int `json:"max_databases"`
	// Spare is how many clones of each template are made ahead of requests, if there is
	// room for them.
	Spare int `json:"spare"`
}

// Database is a lease: a clone of a template that its caller has for itself, and how an
// application reaches it. Its user can do anything in it, and nothing elsewhere.
type Database struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int    `json:"port"`
	// Socket is the path of the server's Unix socket.
	Socket   string `json:"socket"`
	User     string `json:"user"`
	Password string `json:"password"`
	// URL has all of it but the socket: mysql://USER:PASSWORD@HOST:PORT/NAME.
	URL      string `json:"url"`
	Template string `json:"template"`
	// Expires is when the lease ends, unless it is used before; zero if it is kept.
	Expires time.Time `json:"expires_at,omitzero"`
	// Kept says that it stays until it is dropped.
	Kept bool `json:"kept,omitempty"`
}

// Reset is what it took to put a lease back to its template, or to its savepoint.
type Reset struct {
	// Way is how it was done, the cheapest first: noop (nothing had been written), rewind
	// (what was written was undone), refill (tables that were written to were filled
	// again), reclone (the database was made again).
	Way string `json:"way"`
	// Micros is how long it took, in microseconds.
	Micros int64 `json:"micros"`
	// Why says why it was not a cheaper way.
	Why string `json:"why,omitempty"`
	// Warnings are what the caller should know: the lease is as it should be all the same.
	Warnings []string `json:"warnings"`
}

// Templates lists the templates.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	var t []Template
	err := c.call(ctx, http.MethodGet, "/v1/templates", nil, &t)
	return t, err
}

// PutTemplate makes the database of that name a template, or takes one again as it is
// now. One that does not exist is CodeNotFound; one that is being changed, or that
// is a clone itself, CodeBusy.
func (c *Client) PutTemplate(ctx context.Context, name string) (Template, error) {
	var t Template
	err := c.call(ctx, http.MethodPut, templatePath(name), nil, &t)
	return t, err
}

// DeleteTemplate makes a template a database like any other: its data stays. One that is
// being built is given up, and its database removed. One that does not exist is
// CodeNotFound, one with clones CodeBusy.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, templatePath(name), nil, nil)
}

// Databases lists the leases.
func (c *Client) Databases(ctx context.Context) ([]Database, error) {
	var d []Database
	err := c.call(ctx, http.MethodGet, "/v1/databases", nil, &d)
	return d, err
}

// CreateTemplate returns the template with a name and a key, and waits for it while
// another process builds it. Where there is none the caller is to build it: to fill the
// database of the answer, and then to call PutTemplate, or DeleteTemplate if that fails.
// CodeBusy says that the other process took too long.
func (c *Client) CreateTemplate(ctx context.Context, r TemplateRequest) (TemplateClaim, error) {
	var t TemplateClaim
	err := c.call(ctx, http.MethodPost, "/v1/templates", r, &t)
	return t, err
}

// Limits returns the limits of the pool of leases.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	var l Limits
	err := c.call(ctx, http.MethodGet, "/v1/pool", nil, &l)
	return l, err
}

// SetLimits changes them. Leases that are over them stay.
func (c *Client) SetLimits(ctx context.Context, l Limits) (Limits, error) {
	var out Limits
	err := c.call(ctx, http.MethodPut, "/v1/pool", l, &out)
	return out, err
}

// Database returns one lease, and renews its time to live. One that does not exist is
// CodeNotFound.
func (c *Client) Database(ctx context.Context, name string) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodGet, databasePath(name), nil, &d)
	return d, err
}

// KeepDatabase takes a lease out of the pool: it stays as it is until it is dropped.
// One that does not exist is CodeNotFound.
func (c *Client) KeepDatabase(ctx context.Context, name string) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodPost, databasePath(name)+"/keep", nil, &d)
	return d, err
}

// Metrics returns what the instance counts, in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	var b []byte
	err := c.call(ctx, http.MethodGet, "/metrics", nil, &b)
	return b, err
}

// NewDatabase leases a clone of a template. A template that does not exist is
// CodeNotFound, one that was changed CodeChanged, a name that is taken CodeExists, a
// volume that cannot hold it CodeNoRoom, and a pool that stays full CodeFull.
func (c *Client) NewDatabase(ctx context.Context, r DatabaseRequest) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodPost, "/v1/databases", r, &d)
	return d, err
}

// ResetMode says what becomes of AUTO_INCREMENT when a lease is put back.
type ResetMode string

// What may become of counters. With KeepCounters they stay where they are, as DELETE leaves them,
// where rows alone are undone, which takes less time where they have moved; the next call that
// restores them puts them back all the same. "" is RestoreCounters.
const (
	RestoreCounters ResetMode = "restore"
	KeepCounters    ResetMode = "keep"
)

// ResetDatabase puts a lease back to its template. One that does not exist is
// CodeNotFound, one whose template was changed CodeChanged.
func (c *Client) ResetDatabase(ctx context.Context, name string, mode ResetMode) (Reset, error) {
	return c.putBack(ctx, name, "/reset", mode)
}

func (c *Client) putBack(ctx context.Context, name, action string, mode ResetMode) (Reset, error) {
	var r Reset
	if mode != "" && mode != RestoreCounters {
		action += "?counters=" + url.QueryEscape(string(mode))
	}
	err := c.call(ctx, http.MethodPost, databasePath(name)+action, nil, &r)
	return r, err
}

// SetSavepoint sets the savepoint of a lease to what is committed in it now. RollbackDatabase goes
// back to it, until the next ResetDatabase or SetSavepoint. A lease of which more than rows was
// changed is CodeChanged: it can have no savepoint.
func (c *Client) SetSavepoint(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, databasePath(name)+"/savepoint", nil, nil)
}

// RollbackDatabase puts a lease back to its savepoint, and keeps the savepoint. That it has none,
// or that undoing rows is not enough, is CodeLost: then it was reset to its template, and has none.
func (c *Client) RollbackDatabase(ctx context.Context, name string, mode ResetMode) (Reset, error) {
	return c.putBack(ctx, name, "/rollback", mode)
}

// MarkDatabase is the former name of SetSavepoint.
//
// Deprecated: use SetSavepoint.
func (c *Client) MarkDatabase(ctx context.Context, name string) error {
	return c.SetSavepoint(ctx, name)
}

// RewindDatabase is the former name of RollbackDatabase.
//
// Deprecated: use RollbackDatabase.
func (c *Client) RewindDatabase(ctx context.Context, name string, mode ResetMode) (Reset, error) {
	return c.RollbackDatabase(ctx, name, mode)
}

// DropDatabase releases a lease: its account and connections are dropped, and the database
// returns to the pool. One that does not exist is CodeNotFound.
func (c *Client) DropDatabase(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, databasePath(name), nil, nil)
}

func templatePath(name string) string { return "/v1/templates/" + url.PathEscape(name) }

func databasePath(name string) string { return "/v1/databases/" + url.PathEscape(name) }
