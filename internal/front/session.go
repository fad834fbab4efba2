package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/lobby"
)

// session is one client's connection.
type session struct {
	door *Door
	raw  net.Conn // what was accepted
	// client is raw, or TLS over it.
	client net.Conn
	host   string // the client's, "localhost" where it has none; a connection that has ended does not tell it
	id     uint32
	guest  *lobby.Guest
	takes  int64 // what it takes in the lobby, in bytes
	known  bool  // the client has logged in; under door.mu
	// thread is the server's number of its connection.
	thread atomic.Uint32

	login  response
	secure bool        // by TLS
	seat   *seat       // nil for a database that is no clone
	hush   atomic.Bool // the client sends nothing more
	server *upstream

	// relay is what passes bytes on, and tap what was asked last of the server beside it.
	relay relay
	tap   *tap
	// nowhere says that the client has dropped the database in which the session was.
	nowhere bool

	mu    sync.Mutex // guards what cut ends; raw is written by the session alone
	up    io.Closer
	ended bool
}

// cut ends a session from without.
func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.up != nil {
		_ = s.up.Close()
	}
	_ = s.raw.Close()
}

// hold makes cut close the connection to the server, or the relay, too, and reports whether the session goes on.
func (s *session) hold(up io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up = up
	return !s.ended
}

// regain installs the connection that a relay has released, and reports whether the session goes on.
func (s *session) regain(client net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client != s.client {
		s.raw, s.client = client, client
	}
	return !s.ended
}

// welcome greets a client, and serves it on a stack of its own: while a client says nothing it takes little.
func (s *session) welcome(ctx context.Context) {
	g, err := s.greet(ctx)
	if err != nil {
		s.end() // said to the client, or it has gone
		s.door.leave(s)
		return
	}
	s.door.work.Go(func() {
		defer s.door.leave(s)
		defer s.end()
		if s.enter(ctx, g) == nil {
			s.serveRelay(ctx)
		}
	})
}

func (s *session) end() {
	s.cut() // before its clone is given back
	s.guest.Leave()
	if s.server != nil {
		_ = s.server.Close()
	}
	if s.seat != nil {
		s.door.seats.leave(s.seat, s.hush.Load())
	}
}

// hushed notes that the client sends nothing more: there is no other login of it.
func (s *session) hushed() {
	s.hush.Store(true)
	if s.seat != nil {
		s.door.seats.hush(s.seat)
	}
}

// greet greets the client as the server would.
func (s *session) greet(ctx context.Context) (*greeting, error) {
	ctx, cancel := context.WithTimeout(ctx, knowTime)
	defer cancel()
	g, err := s.door.greet(ctx)
	if err != nil {
		r := s.door.refusal(err)
		// A client that was not greeted yet reads no state.
		_, _ = s.client.Write(packet(0, append([]byte{isErr, byte(r.Code), byte(r.Code >> 8)}, r.Text...)))
		return nil, err
	}
	g.id, g.salt, g.can = s.id, newSalt(saltBytes), g.can&^neither|canTLS|canPlugin|canLongAuth
	if _, known := ways[g.plugin]; !known {
		g.plugin = native
	}
	_, err = s.client.Write(packet(0, g.payload()))
	return &g, err
}

// read reads a packet of the client. In the lobby it counts as it comes, and stays: the login keeps some of it.
func (s *session) read() (payload []byte, seq byte, err error) {
	before := s.takes
	return readPacket(s.client, func(bytes int) {
		s.takes = before + int64(bytes)
		s.guest.Takes(s.takes)
	})
}

// enter does the login.
func (s *session) enter(ctx context.Context, g *greeting) error {
	payload, seq, err := s.read()
	if err != nil {
		return err
	}
	return s.logIn(ctx, g, payload, seq)
}

func (s *session) logIn(ctx context.Context, g *greeting, payload []byte, seq byte) error {
	seq, err := s.readLogin(ctx, payload, seq)
	if err == nil {
		seq, err = s.admit(ctx, *g, seq)
	}
	if err != nil {
		s.refuse(seq+1, err)
		return err
	}
	return s.client.SetDeadline(time.Time{})
}

// readLogin reads the client's answer to the greeting, of which the first packet has come, and begins TLS where the client
// wants that.
func (s *session) readLogin(ctx context.Context, payload []byte, before byte) (seq byte, err error) {
	seq = before
	if isTLSRequest(payload) {
		s.takes = lobby.TLS
		s.guest.Takes(s.takes)
		c := tls.Server(s.client, s.door.tls)
		if err := c.HandshakeContext(ctx); err != nil {
			return seq, err
		}
		s.client, s.secure = c, true
		if payload, seq, err = s.read(); err != nil {
			return seq, err
		}
	}
	s.login, err = parseResponse(payload)
	return seq, err
}

// refuse tells the client why it is not let in.
func (s *session) refuse(seq byte, err error) {
	_, _ = s.client.Write(packet(seq, s.door.refusal(err).payload()))
}

// refusal is an error as clients know it.
func (d *Door) refusal(err error) *RefusalError {
	var r *RefusalError
	var c *client.Error
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &c) && c.Code == client.CodeNotFound:
		return refuse(erBadDB, stateNoDatabase, "ramaria: %s", d.said(c))
	case errors.As(err, &c) && c.Code == client.CodeFull:
		return refuse(erTooMany, stateGone, "ramaria: %s", d.said(c))
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(erUnknown, stateGeneral, "ramaria: instance %s did not answer in time", d.c.Name)
	default:
		return refuse(erUnknown, stateGeneral, "ramaria: instance %s: %s", d.c.Name, oneLine(err.Error()))
	}
}

// said is what the pool says. What it says to do is done where it is.
func (d *Door) said(err *client.Error) string {
	text := err.Error()
	if d.far() {
		text = strings.ReplaceAll(text, "\nhint: ", "\nhint, for the machine of instance "+d.c.Name+": ")
	}
	return oneLine(text)
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// attach gives the client its clone, and a connection to the server as the clone's account.
func (s *session) attach(ctx context.Context, st client.Status) error {
	e := st.Endpoint
	for retry := true; ; retry = false {
		a := account{e.User, e.Password, s.login.database}
		var noClone error
		if isClone(s.login.database) {
			seat, err := s.door.seats.sit(ctx, s.login.database)
			switch {
			case gone(err): // there may be a database of that name
				noClone = err
			case err != nil:
				return err
			default:
				s.seat, a = seat, account{seat.lease.User, seat.lease.Password, seat.lease.Name}
			}
		}
		if s.seat == nil && s.door.far() { // whose account the door does not have
			if noClone != nil {
				return noClone
			}
			return refuse(erBadDB, stateNoDatabase, "ramaria: the door leads to a pool on another machine: connect to a database TEMPLATE@NAME")
		}
		server, err := logIn(ctx, e, s.login, a)
		if err == nil {
			s.server = server
			s.thread.Store(server.id)
			s.door.keep(server.greeting)
			if !s.hold(server) {
				return errClosed
			}
			return nil
		}
		var r *RefusalError
		if noClone != nil && errors.As(err, &r) && r.Code == erBadDB {
			return noClone // which says what to do
		}
		if !retry || s.seat == nil || !errors.As(err, &r) || r.Code != erAccessDenied {
			return err
		}
		// The lease ended behind the door's back: the name gets another.
		s.door.seats.forget(s.seat)
		s.door.seats.leave(s.seat, false)
		s.seat = nil
	}
}

// change is a client's wish to log in again, perhaps as somebody else and to another database. The relay stands
// still meanwhile.
func (s *session) change(ctx context.Context, payload []byte) error {
	var seq byte // of the payload
	if err := s.client.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return err
	}
	login, err := parseChange(payload, s.login)
	if err != nil {
		s.refuse(seq+1, err)
		return err
	}
	server, before := s.server, s.seat
	s.login, s.server, s.seat = login, nil, nil
	_ = server.Close()
	g := server.greeting
	// Its answer was made with the salt of the first login, or is empty: it is asked anew.
	s.login.auth, g.salt = nil, nil
	if _, known := ways[g.plugin]; !known {
		g.plugin = native
	}
	seq, err = s.admit(ctx, g, seq)
	if before != nil { // after the new one, so that a name that stays the same keeps its clone
		s.door.seats.leave(before, false)
	}
	if err != nil {
		s.refuse(seq+1, err)
		return err
	}
	return s.client.SetDeadline(time.Time{})
}
