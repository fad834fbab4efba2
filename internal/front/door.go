// Package front is a door to the pool of an instance that speaks the protocol of MySQL: who connects to the
// database shop@NAME is in the clone of template shop that belongs to NAME. A client needs no code for that.
//
// The door does a client's login itself, since it learns the name only there, and logs in to the server as the
// clone's account. From then on it relays bytes, and looks at nothing but the beginning of what the client sends.
//
// The invariant: a clone is given back when no connection uses it any more, and never while one does.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/lobby"
)

const (
	// DefaultLinger is how long a name may be without a connection until its clone is given back.
	DefaultLinger = 500 * time.Millisecond
	// knowTime is how long the instance may take to say what it is while a client is not known: less than such a client
	// has, so that it still hears why it is refused.
	knowTime = lobby.DefaultTime - 2*time.Second
	// poolTime is how long the pool and the server may take for a client that is known: the wait for a clone, and a login.
	poolTime = leaseWait + 4*time.Second
	// loginTime is how long the rest of its login may take: while it still hears why it is refused.
	loginTime = poolTime + 3*time.Second
	// MostConnections bounds those who have logged in, at a time: a guard of the machine, well above what a server allows.
	MostConnections = 10000
	// knownTime is how long what the instance said of itself is taken for true where a login fails by it.
	knownTime = time.Second
)

// Config is what a Door is made of.
type Config struct {
	Pool Pool
	// Name is the instance's, for what is said.
	Name string
	// Login is the account by which clients log in, where the pool is on another machine, which does not tell that of the
	// instance. Else it is empty.
	Login Login
	// Linger is how long a name may be without a connection until its clone is given back; 0 is at once.
	Linger time.Duration
	Log    *slog.Logger
}

// Login is an account.
type Login struct{ User, Password string }

// Door lets clients in.
type Door struct {
	c     Config
	seats seats
	tls   *tls.Config
	print []byte // the SHA-256 of its certificate
	key   passwordKey
	loops loops
	lobby *lobby.Lobby // of those who have not logged in

	mu       sync.Mutex
	status   client.Status
	asked    time.Time
	socket   socket   // the server's, from before asked
	greeting greeting // the server's
	sessions map[uint32]*session
	users    int // how many of them have logged in
	closed   bool

	next atomic.Uint32
	work sync.WaitGroup
}

// New returns a door that is not open yet.
func New(c Config) (*Door, error) {
	d := &Door{c: c, sessions: map[uint32]*session{}, lobby: lobby.New(lobby.Default)}
	d.seats = seats{pool: c.Pool, linger: c.Linger, byName: map[string]*seat{}, all: map[*seat]struct{}{}, closing: make(chan struct{}), warn: func(text string, err error) { c.Log.Warn(text, "error", err) }}
	// Far from the numbers of the server's own connections, so that KILL with one of those is left as it is; and
	// positive for clients that read them with a sign, as MariaDB's for Java does.
	d.next.Store(1 << 30)
	var err error
	d.tls, d.print, err = selfSigned()
	return d, err
}

// Serve lets clients in until ctx ends, and then ends their connections and gives their clones back. It
// closes l.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if err := d.loops.start(useful()); err != nil {
		d.c.Log.Warn("cannot relay by loops: statements take longer", "error", err)
	}
	defer d.loops.close()
	var helpers sync.WaitGroup
	helpers.Go(func() { d.renew(ctx) })
	err := d.accept(ctx, l)
	cancel()
	_ = l.Close()
	d.close()
	d.work.Wait()
	d.seats.close()
	helpers.Wait()
	return err
}

// acceptPause is how long to wait where a connection cannot be accepted, for want of files say.
const acceptPause = 50 * time.Millisecond

func (d *Door) accept(ctx context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to end
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept a client: %w", err)
		case err != nil:
			d.c.Log.Warn("cannot accept a client", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		s := &session{door: d, raw: conn, client: conn, host: hostOf(conn), takes: lobby.Plain, guest: d.lobby.Enter(conn, lobby.Plain), id: d.next.Add(1)}
		if !d.enter(s) {
			s.guest.Leave()
			_ = conn.Close()
			continue
		}
		d.work.Go(func() { s.welcome(ctx) })
	}
}

func (d *Door) enter(s *session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.sessions[s.id] = s
	return true
}

func (d *Door) leave(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, s.id)
	if s.known {
		d.users--
	}
}

// admit counts a session whose client is known, and reports whether there is room for it.
func (d *Door) admit(s *session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.known {
		return true
	}
	if d.users >= MostConnections {
		return false
	}
	d.users++
	s.known = true
	s.guest.Leave()
	return true
}

func (d *Door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, s := range d.sessions {
		s.cut()
	}
}

// threadOf is the server's number of a connection that the door has told a client another number of.
func (d *Door) threadOf(id uint32) (uint32, bool) {
	d.mu.Lock()
	s := d.sessions[id]
	d.mu.Unlock()
	if s == nil {
		return 0, false
	}
	return s.thread.Load(), true
}

func (d *Door) renew(ctx context.Context) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.seats.renew(ctx)
		}
	}
}

// known is what the instance says of itself; a new answer where its server is another than at the last, or where the
// last is older than knownTime and fresh is asked for. An account changes only with a start of the server, which
// makes its socket anew: to look at that takes no question.
func (d *Door) known(ctx context.Context, fresh bool) (client.Status, error) {
	d.mu.Lock()
	st, asked, before := d.status, d.asked, d.socket
	d.mu.Unlock()
	now := lookAt(st.Endpoint.Socket)
	young := time.Since(asked) < knownTime
	if now.same(before) && (!fresh || young) || d.far() && young {
		return st, nil
	}
	path := st.Endpoint.Socket
	st, err := d.c.Pool.Status(ctx)
	if err != nil {
		return st, err
	}
	if d.far() {
		st.Endpoint.User, st.Endpoint.Password = d.c.Login.User, d.c.Login.Password
	}
	if st.Endpoint.Socket != path {
		now = socket{} // what was looked at is another's: only the next look can tell
	}
	d.mu.Lock()
	if now.FileInfo != nil && !now.same(d.socket) || d.far() && !st.Since.Equal(d.status.Since) {
		d.greeting = greeting{} // of the server before
	}
	d.status, d.asked, d.socket = st, time.Now(), now
	d.mu.Unlock()
	return st, nil
}

// far reports whether the pool is on another machine.
func (d *Door) far() bool { return d.c.Login != Login{} }

// socket is the file of a server's socket at one moment; without FileInfo there is none.
type socket struct{ os.FileInfo }

func lookAt(path string) socket {
	i, err := os.Stat(path)
	if err != nil {
		return socket{}
	}
	return socket{i}
}

// same reports whether it is certain that the server is the same; the number of a file may be given to another.
func (s socket) same(as socket) bool {
	return s.FileInfo != nil && as.FileInfo != nil && os.SameFile(s.FileInfo, as.FileInfo) && s.ModTime().Equal(as.ModTime())
}

// anyClient is what the door itself logs in as.
var anyClient = response{can: can41 | canSecure | canPlugin | canLongAuth, most: mostLogin, collation: utf8mb4}

// greet is the server's greeting, which a login has brought or is fetched now.
func (d *Door) greet(ctx context.Context) (greeting, error) {
	st, err := d.known(ctx, false)
	if err != nil {
		return greeting{}, err
	}
	d.mu.Lock()
	g := d.greeting
	d.mu.Unlock()
	if g.version != "" {
		return g, nil
	}
	e := st.Endpoint
	if d.far() {
		u, err := hello(ctx, e) // whose account it does not have
		if err != nil {
			return g, err
		}
		_ = u.Close()
		d.keep(u.greeting)
		return u.greeting, nil
	}
	u, err := logIn(ctx, e, anyClient, account{e.User, e.Password, ""})
	if err != nil {
		return g, err
	}
	_, _ = u.Write(packet(0, []byte{comQuit})) // so that the server's log has no word of it
	_ = u.Close()
	d.keep(u.greeting)
	return u.greeting, nil
}

func (d *Door) keep(g greeting) {
	d.mu.Lock()
	d.greeting = g
	d.mu.Unlock()
}
