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
	// Made is when the database was last made a template.
	Made time.Time `json:"made"`
	// Tables is how many tables it has. After a restart of the server Tables, Bytes and Changed
	// are unknown, and zero, until the template is used.
	Tables int `json:"tables"`
	// Bytes is the size of the data, in bytes.
	Bytes int64 `json:"bytes"`
	// Family and Key are the name and key of its TemplateRequest; both are empty if PutTemplate
	// made the template of a database.
	Family string `json:"family,omitempty"`
	Key    string `json:"key,omitempty"`
	// Leases is how many of its clones are leased.
	Leases int `json:"leases"`
	// Spare is how many of its clones are ready for new leases.
	Spare int `json:"spare"`
	// Changed says why no more clones can be made of it; empty if they can.
	Changed string `json:"changed,omitempty"`
	// Notes say what its clones have otherwise than it, and what in it reaches into other databases. They
	// are unknown as Tables is.
	Notes []string `json:"notes,omitempty"`
}

// DatabaseRequest asks for a lease.
type DatabaseRequest struct {
	// Template is the name of the template to clone.
	Template string `json:"template"`
	// Name of the new database: 1 to 64 of A-Z, a-z, 0-9 and _. If it is empty, the pool
	// chooses one.
	Name string `json:"name,omitempty"`
	// TTLSeconds is how long the lease lasts after its last use, in seconds, a year at most; 0
	// is an hour.
	TTLSeconds float64 `json:"ttl_s,omitempty"`
	// WaitSeconds is how long to wait while the pool is full, in seconds, an hour at most; 0 is
	// a minute.
	WaitSeconds float64 `json:"wait_s,omitempty"`
}

// TemplateRequest asks for a template by name and key.
type TemplateRequest struct {
	// Name is 1 to 64 of A-Z, a-z, 0-9 and _. The template's own name begins with it.
	Name string `json:"name"`
	// Key identifies the content, for example by a hash of the sources: 1 to 1024 bytes.
	// Another key means another template.
	Key string `json:"key"`
	// WaitSeconds is how long to wait while another process builds the template, in seconds, an
	// hour at most; 0 is fifteen minutes.
	WaitSeconds float64 `json:"wait_s,omitempty"`
	// BuildSeconds is how long the caller may build the template, in seconds, a year at most; 0
	// is ten minutes. After that another process may build it.
	BuildSeconds float64 `json:"build_s,omitempty"`
}

// The states of a TemplateClaim.
const (
	StateReady = "ready" // the template is there
	StateBuild = "build" // the caller must fill the database, and then call PutTemplate
)

// TemplateClaim is the answer to a TemplateRequest.
type TemplateClaim struct {
	State    string   `json:"state"`
	Template Template `json:"template"`
	// Database is the empty database that the caller must fill before Expires, with the
	// application's account; nil in StateReady.
	Database *Database `json:"database,omitempty"`
}

// Limits bound the pool of leases.
type Limits struct {
	// MaxDatabases is how many leases may be in use at a time. Kept ones do not count.
	MaxDatabases int `json:"max_databases"`
	// Spare is how many clones of each template are made ahead of requests, if there is room.
	Spare int `json:"spare"`
}

// Database is a lease, one caller's exclusive hold on a clone of a template, and how an
// application reaches it. Its account can do anything in this database, and nothing in others.
type Database struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int    `json:"port"`
	// Socket is the path of the server's Unix socket.
	Socket   string `json:"socket"`
	User     string `json:"user"`
	Password string `json:"password"`
	// URL has all of these but the socket: mysql://USER:PASSWORD@HOST:PORT/NAME.
	URL      string `json:"url"`
	Template string `json:"template"`
	// Expires is when the lease ends if it is not used before; zero if it is kept.
	Expires time.Time `json:"expires_at,omitzero"`
	// Kept says that the database stays until it is dropped.
	Kept bool `json:"kept,omitempty"`
}

// Reset says how a lease was put back to its template or its savepoint.
type Reset struct {
	// Way is how it was done, the cheapest first: noop (nothing had changed), rewind (the
	// changed rows were undone), refill (the changed tables were filled again), reclone (the
	// database was cloned again).
	Way string `json:"way"`
	// Micros is how long it took, in microseconds.
	Micros int64 `json:"micros"`
	// Why says why a cheaper way was not possible.
	Why string `json:"why,omitempty"`
	// Warnings say what the caller should know, such as changes outside the database. The lease
	// is as it should be all the same.
	Warnings []string `json:"warnings"`
	// Connections are the server's numbers of the lease's connections that are open still, with what their
	// sessions hold: variables, temporary tables, locks, and the current database.
	Connections []uint64 `json:"connections,omitempty"`
}

// Templates lists the templates.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	var t []Template
	err := c.call(ctx, http.MethodGet, "/v1/templates", nil, &t)
	return t, err
}

// PutTemplate makes the database of that name a template. If it is one already, its present
// content becomes the template. The error is CodeNotFound if the database does not exist, and
// CodeBusy if it is being changed or is itself a clone.
func (c *Client) PutTemplate(ctx context.Context, name string) (Template, error) {
	var t Template
	err := c.call(ctx, http.MethodPut, templatePath(name), nil, &t)
	return t, err
}

// DeleteTemplate makes a template an ordinary database; its data stays. A template that is
// being built is given up, and its database removed. The error is CodeNotFound if the template
// does not exist, and CodeBusy if it has clones.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, templatePath(name), nil, nil)
}

// Databases lists the leases.
func (c *Client) Databases(ctx context.Context) ([]Database, error) {
	var d []Database
	err := c.call(ctx, http.MethodGet, "/v1/databases", nil, &d)
	return d, err
}

// CreateTemplate returns the template with the request's name and key, and waits while another
// process builds it. If it does not exist, the state of the answer is StateBuild and the caller
// must build it: fill the database of the answer, then call PutTemplate, or DeleteTemplate if
// that fails. The error is CodeBusy if another process took too long to build it.
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

// SetLimits changes the limits of the pool of leases and returns the new ones. Leases above a
// lowered limit stay. The error is CodeInvalid if a limit is out of range.
func (c *Client) SetLimits(ctx context.Context, l Limits) (Limits, error) {
	var out Limits
	err := c.call(ctx, http.MethodPut, "/v1/pool", l, &out)
	return out, err
}

// Database returns a lease and renews its time to live. The error is CodeNotFound if the lease
// does not exist.
func (c *Client) Database(ctx context.Context, name string) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodGet, databasePath(name), nil, &d)
	return d, err
}

// KeepDatabase takes a lease out of the pool: it stays as it is until it is dropped. The error
// is CodeNotFound if the lease does not exist.
func (c *Client) KeepDatabase(ctx context.Context, name string) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodPost, databasePath(name)+"/keep", nil, &d)
	return d, err
}

// Metrics returns the instance's metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	var b []byte
	err := c.call(ctx, http.MethodGet, "/metrics", nil, &b)
	return b, err
}

// NewDatabase leases a clone of a template. The error is CodeNotFound if the template does not
// exist, CodeChanged if it was changed, CodeExists if the name is taken, CodeNoRoom if the
// volume cannot hold the clone, and CodeFull if the pool stays full.
func (c *Client) NewDatabase(ctx context.Context, r DatabaseRequest) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodPost, "/v1/databases", r, &d)
	return d, err
}

// ResetMode says what becomes of AUTO_INCREMENT when a lease is put back.
type ResetMode string

// The modes of a reset; "" is RestoreCounters. KeepCounters leaves AUTO_INCREMENT as it is where
// only rows are undone, which is faster if it has moved. A later call with RestoreCounters puts it
// back all the same.
const (
	RestoreCounters ResetMode = "restore"
	KeepCounters    ResetMode = "keep"
)

// ResetDatabase puts a lease back to its template. The error is CodeNotFound if the lease does
// not exist, and CodeChanged if the template was changed.
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

// SetSavepoint sets the savepoint of a lease to what is committed in it now, for
// RollbackDatabase. It lasts until the next ResetDatabase or SetSavepoint. The error is
// CodeChanged if more than rows was changed in the lease: it can then have no savepoint.
func (c *Client) SetSavepoint(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, databasePath(name)+"/savepoint", nil, nil)
}

// RollbackDatabase puts a lease back to its savepoint, and keeps the savepoint. The error is
// CodeLost if the lease has no savepoint, or if undoing rows is not enough: the lease was then
// reset to its template and has no savepoint any more.
func (c *Client) RollbackDatabase(ctx context.Context, name string, mode ResetMode) (Reset, error) {
	return c.putBack(ctx, name, "/rollback", mode)
}

// DropDatabase releases a lease: it drops the lease's account and connections and returns the
// database to the pool. The error is CodeNotFound if the lease does not exist.
func (c *Client) DropDatabase(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, databasePath(name), nil, nil)
}

func templatePath(name string) string { return "/v1/templates/" + url.PathEscape(name) }

func databasePath(name string) string { return "/v1/databases/" + url.PathEscape(name) }
