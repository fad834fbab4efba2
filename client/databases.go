package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Template is a database of which clones can be made.
type Template struct {
	// Name is the database's.
	Name string `json:"name"`
	// Made is when the database was made a template, or taken anew, the last time.
	Made time.Time `json:"made"`
	// Tables is how many there are. After a restart of the server this, Bytes and Changed are
	// not known, and zero, until the template is used.
	Tables int `json:"tables"`
	// Bytes is the size of the data.
	Bytes int64 `json:"bytes"`
	// Leases is how many databases there are that were made from it.
	Leases int `json:"leases"`
	// Changed says why no clones can be made of it any more; it is empty if they can.
	Changed string `json:"changed,omitempty"`
}

// DatabaseRequest asks for a database.
type DatabaseRequest struct {
	// Template is the name of the template whose clone it is to be.
	Template string `json:"template"`
	// Name of the new database: 1 to 64 of A-Z, a-z, 0-9 and _. One is chosen where it
	// is empty.
	Name string `json:"name,omitempty"`
	// TTLSeconds is for how long the database is kept after it was made, and after each
	// reset, in seconds, a year at most; 0 is an hour.
	TTLSeconds float64 `json:"ttl_s,omitempty"`
}

// Database is a clone of a template that its caller has for itself, and how an
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
	// Expires is when it is dropped, unless it is reset before.
	Expires time.Time `json:"expires_at"`
}

// Reset is what it took to make a database as its template is.
type Reset struct {
	// Way is how it was done, the cheapest first: noop (nothing had been written), rewind
	// (what was written was undone), refill (tables that were written to were filled
	// anew), reclone (the database was made anew).
	Way string `json:"way"`
	// Micros is how long it took, in microseconds.
	Micros int64 `json:"micros"`
	// Why says why it was not a cheaper way.
	Why string `json:"why,omitempty"`
	// Warnings are what the caller should know: it is as the template is all the same.
	Warnings []string `json:"warnings"`
}

// Templates lists the templates.
func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	var t []Template
	err := c.call(ctx, http.MethodGet, "/v1/templates", nil, &t)
	return t, err
}

// PutTemplate makes the database of that name a template, or takes one anew as it is
// now. One that does not exist is CodeNotFound; one that somebody is changing, or that
// is a clone itself, CodeBusy.
func (c *Client) PutTemplate(ctx context.Context, name string) (Template, error) {
	var t Template
	err := c.call(ctx, http.MethodPut, templatePath(name), nil, &t)
	return t, err
}

// DeleteTemplate makes a template a database like any other: its data stays. One that
// does not exist is CodeNotFound, one with clones CodeBusy.
func (c *Client) DeleteTemplate(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, templatePath(name), nil, nil)
}

// Databases lists the databases that were made from templates.
func (c *Client) Databases(ctx context.Context) ([]Database, error) {
	var d []Database
	err := c.call(ctx, http.MethodGet, "/v1/databases", nil, &d)
	return d, err
}

// NewDatabase makes a clone of a template. A template that does not exist is
// CodeNotFound, one that was changed CodeChanged, a name that is taken CodeExists, and a
// volume that cannot hold it CodeNoRoom.
func (c *Client) NewDatabase(ctx context.Context, r DatabaseRequest) (Database, error) {
	var d Database
	err := c.call(ctx, http.MethodPost, "/v1/databases", r, &d)
	return d, err
}

// ResetDatabase makes a database as its template is. One that does not exist is
// CodeNotFound, one whose template was changed CodeChanged.
func (c *Client) ResetDatabase(ctx context.Context, name string) (Reset, error) {
	var r Reset
	err := c.call(ctx, http.MethodPost, databasePath(name)+"/reset", nil, &r)
	return r, err
}

// DropDatabase drops a database that was made from a template, and its user. One that
// does not exist is CodeNotFound.
func (c *Client) DropDatabase(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, databasePath(name), nil, nil)
}

func templatePath(name string) string { return "/v1/templates/" + url.PathEscape(name) }

func databasePath(name string) string { return "/v1/databases/" + url.PathEscape(name) }
