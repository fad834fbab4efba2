// Package client talks to a running Ramaria instance: it reads its state, branches it,
// marks its data, rewinds it to a mark, and leases databases that are clones of
// templates. It needs only the standard library, and keeps one invariant: it sends no
// request to a socket that neither the caller nor root owns, nor to another machine that has
// not shown the certificate with the fingerprint that the caller knows.
//
// Its types are the JSON of the HTTP API. Fields are added, never renamed or given
// another meaning; a client ignores those that it does not know.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
)

// EnvVar is the environment variable with the path of an instance's socket. `ramaria env`
// prints it, and `ramaria run` sets it for its command. For an instance on another machine it
// is https://HOST:PORT#sha256=FINGERPRINT, which `ramaria env --format remote` prints there.
const EnvVar = "RAMARIA_API"

// EnvInstance is the environment variable with the name of an instance. `ramaria env` prints it
// together with EnvVar.
const EnvInstance = "RAMARIA_INSTANCE"

const (
	// maxAnswer is the size, in bytes, of the largest answer that is read: some
	// ten thousand marks.
	maxAnswer = 4 << 20
	// maxForeign is how much of an answer that is not the API's, in bytes, is shown.
	maxForeign = 200

	jsonType = "application/json"
)

// Client talks to one instance. Several goroutines may use it at once. It outlives a restart of
// the instance.
//
// Between calls it keeps connections open, which halves the time of a short call: at most as
// many as there were calls at once, and at most MaxIdle. Close closes them. A Client that is
// not closed leaks no goroutine, and the garbage collector closes its connections.
//
// A call takes as long as the instance takes, unless its context ends first: the instance is
// then told, and gives up what it was doing. Errors are *Error if the instance answered, and
// match ErrNoServer if no instance did.
type Client struct {
	conns *conns
}

// New returns a client of the instance whose socket has the path socket, or that is on
// another machine, at https://HOST:PORT#sha256=FINGERPRINT; its token is then that of the
// variable RAMARIA_TOKEN, or of the file that RAMARIA_TOKEN_FILE names. It does not connect
// yet: what is wrong with an address, or that the token is missing, is the error of each call.
//
// Of an instance on another machine a client can lease, reset and release databases, find
// templates, and read a part of its status. Other calls are CodeForbidden.
func New(socket string) *Client {
	if !isURL(socket) {
		return &Client{conns: &conns{socket: socket}}
	}
	token, err := tokenFromEnv()
	if err != nil {
		return &Client{conns: &conns{socket: socket, wrong: err}}
	}
	return NewRemote(socket, token)
}

// NewRemote is New for an instance on another machine, with a token that does not come from a variable.
func NewRemote(url, token string) *Client {
	p := &conns{socket: url}
	p.remote, p.wrong = parseRemote(url, token)
	return &Client{conns: p}
}

// FromEnv returns a client of the instance that the variable RAMARIA_API names. If the variable
// is not set, the error matches ErrNoServer.
func FromEnv() (*Client, error) {
	socket := os.Getenv(EnvVar)
	if socket == "" {
		return nil, fmt.Errorf("find instance: %w: %s is not set\nhint: eval \"$(ramaria env)\", or begin the command with: ramaria run --", ErrNoServer, EnvVar)
	}
	return New(socket), nil
}

// Socket returns the path of the instance's socket, or where it is on another machine.
func (c *Client) Socket() string { return c.conns.socket }

// Close closes the connections that no call uses; calls under way close theirs at their end.
// Close may be called more than once, and the Client used afterwards: each call then opens a
// connection of its own.
func (c *Client) Close() { c.conns.close() }

// Status returns the state of the instance.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
	return s, err
}

// Wanted says which instance a caller expects. An empty field matches any.
type Wanted struct {
	// Instance is its name.
	Instance string
	// Server is the software, in the form of `ramaria up --server`: mysql, mariadb:11.4, or the
	// path of a mariadbd or mysqld.
	Server string
}

// WantedFromEnv returns what the variables RAMARIA_INSTANCE and RAMARIA_SERVER ask for. They
// choose an instance where RAMARIA_API names none. (RAMARIA_VOLUME only says where to make a
// new one.)
func WantedFromEnv() Wanted {
	return Wanted{Instance: os.Getenv(EnvInstance), Server: os.Getenv("RAMARIA_SERVER")}
}

// Expect checks that the instance is the wanted one. If it is another, the error is CodeOther.
func (c *Client) Expect(ctx context.Context, w Wanted) error {
	query := url.Values{}
	for key, value := range map[string]string{"instance": w.Instance, "server": w.Server} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if len(query) == 0 {
		return nil
	}
	return c.call(ctx, http.MethodGet, "/v1/status?"+query.Encode(), nil, nil)
}

// Branch starts a new instance with the data that this one has now. The error is CodeExists if
// the name is taken, and CodeNoRoom if the volume cannot hold the branch.
func (c *Client) Branch(ctx context.Context, r BranchRequest) (Branch, error) {
	var b Branch
	err := c.call(ctx, http.MethodPost, "/v1/branch", r, &b)
	return b, err
}

// Marks lists the instance's marks, the oldest first.
func (c *Client) Marks(ctx context.Context) ([]Mark, error) {
	var m []Mark
	err := c.call(ctx, http.MethodGet, "/v1/marks", nil, &m)
	return m, err
}

// Mark keeps the data that the instance has now under a label. The error is CodeExists if the
// label is taken and the request does not say to replace its mark, and CodeNoRoom if the volume
// cannot hold the mark.
func (c *Client) Mark(ctx context.Context, r MarkRequest) (Mark, error) {
	var m Mark
	err := c.call(ctx, http.MethodPost, "/v1/marks", r, &m)
	return m, err
}

// Backup makes a base backup of a durable instance, in its archive. The error is CodeDurable if the
// instance is not durable.
func (c *Client) Backup(ctx context.Context) (Backup, error) {
	var b Backup
	err := c.call(ctx, http.MethodPost, "/v1/backups", nil, &b)
	return b, err
}

// Backups returns the base backups that the archive of a durable instance has, the oldest first.
func (c *Client) Backups(ctx context.Context) ([]Backup, error) {
	var b []Backup
	err := c.call(ctx, http.MethodGet, "/v1/backups", nil, &b)
	return b, err
}

// VerifyBackups recovers beside a durable instance what its archive has, and compares the two. A
// difference is an error.
func (c *Client) VerifyBackups(ctx context.Context) (Verification, error) {
	var v Verification
	err := c.call(ctx, http.MethodPost, "/v1/backups/verify", nil, &v)
	return v, err
}

// PruneBackups removes from the archive of a durable instance what its history does not need.
func (c *Client) PruneBackups(ctx context.Context) (Pruned, error) {
	var p Pruned
	err := c.call(ctx, http.MethodPost, "/v1/backups/prune", nil, &p)
	return p, err
}

// DeleteMark removes a mark. The error is CodeNotFound if the mark does not exist.
func (c *Client) DeleteMark(ctx context.Context, label string) error {
	return c.call(ctx, http.MethodDelete, markPath(label), nil, nil)
}

// AddReplica makes a new instance that follows this one, and starts it. Errors are those of Branch; CodeDurable says that
// the instance cannot have one: it has templates, or is a replica itself.
func (c *Client) AddReplica(ctx context.Context, r ReplicaRequest) (Branch, error) {
	var b Branch
	err := c.call(ctx, http.MethodPost, "/v1/replicas", r, &b)
	return b, err
}

// Promote makes a replica an instance of its own, which is written to, once it has applied what it has received. The
// error is CodeDurable for one that is no replica, or that may differ from its source.
func (c *Client) Promote(ctx context.Context, r PromoteRequest) (Promotion, error) {
	var p Promotion
	err := c.call(ctx, http.MethodPost, "/v1/promote", r, &p)
	return p, err
}

// Move moves the instance to another volume while it runs. Its server is restarted there: connections to it break, and
// the endpoint stays. If ctx ends before that, the instance stays where it is. The error is CodeNoRoom if it does not
// fit there, and CodeBusy if it is being moved already.
func (c *Client) Move(ctx context.Context, r MoveRequest) (Move, error) {
	var m Move
	err := c.call(ctx, http.MethodPost, "/v1/move", r, &m)
	return m, err
}

// Rewind puts the instance back to the data that it had at the mark, and keeps the mark. It
// restarts the server, which closes all connections. The error is CodeNotFound if the mark does
// not exist.
func (c *Client) Rewind(ctx context.Context, label string) (Rewind, error) {
	var r Rewind
	err := c.call(ctx, http.MethodPost, markPath(label)+"/rewind", nil, &r)
	return r, err
}

func markPath(label string) string { return "/v1/marks/" + url.PathEscape(label) }

// call sends in as JSON, if it is not nil, and reads the answer into out, if that is
// not nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	failed := func(err error) error { return fmt.Errorf("ask the instance at %s: %w", c.Socket(), err) }
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return failed(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.conns.base()+path, body)
	if err != nil {
		return failed(err)
	}
	req.Header.Set("Accept", jsonType)
	if in != nil {
		req.Header.Set("Content-Type", jsonType)
	}
	a, err := c.conns.exchange(req)
	if err != nil {
		return failed(err)
	}
	if len(a.body) > maxAnswer {
		return failed(fmt.Errorf("its answer has more than %d bytes", maxAnswer))
	}
	if a.status < 200 || a.status > 299 {
		return errorOf(a)
	}
	if out == nil {
		return nil
	}
	if text, is := out.(*[]byte); is {
		*text = a.body
		return nil
	}
	if t, _, _ := mime.ParseMediaType(a.contentType); t != jsonType {
		return failed(fmt.Errorf("its answer is not JSON but %q", excerpt(a.body)))
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return failed(fmt.Errorf("read answer: %w", err))
	}
	return nil
}

// excerpt is the beginning of what an unknown server said.
func excerpt(b []byte) string {
	if len(b) > maxForeign {
		return string(b[:maxForeign]) + "..."
	}
	return string(b)
}
