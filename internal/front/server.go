package front

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// account is what a session logs in to the server with.
type account struct{ user, password, database string }

// upstream is a connection to the server that has logged in.
type upstream struct {
	net.Conn
	greeting
	ok []byte // what the server has answered to the login
	// private says that nobody reads what is sent: a socket of this machine, or TLS.
	private bool
}

// queuePause is the pause between two attempts to connect to a server whose queue is full.
const queuePause = 2 * time.Millisecond

// dial connects to the server: to its Unix socket, or where it has none that this machine reaches, by TCP.
func dial(ctx context.Context, e client.Endpoint) (net.Conn, error) {
	if e.Socket == "" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(e.Port)))
	}
	return dialSocket(ctx, e.Socket)
}

// dialSocket connects to a Unix socket. Unlike a TCP client's, a connection for which the server's queue (back_log) has no room is
// refused at once, with EAGAIN: it waits for its turn here, until ctx ends. unix(7), connect(2)
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(queuePause):
		}
	}
}

// uncounted is for what a server sends.
func uncounted(int) {}

// hello connects to the server and reads its greeting.
func hello(ctx context.Context, e client.Endpoint) (_ *upstream, err error) {
	conn, err := dial(ctx, e)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return nil, err
		}
	}
	payload, _, err := readPacket(conn, uncounted)
	if err != nil {
		return nil, fmt.Errorf("read the server's greeting: %w", err)
	}
	g, err := parseGreeting(payload)
	return &upstream{Conn: conn, greeting: g, private: e.Socket != ""}, err
}

// encrypt begins TLS with a server that is reached by TCP, if it offers that, before a login is sent: the server takes from its
// beginning what the client can. Whose certificate it is nobody knows: the API does not tell it.
func (u *upstream) encrypt(ctx context.Context, login []byte) (seq byte, err error) {
	if u.private || u.can&canTLS == 0 {
		return 0, nil
	}
	binary.LittleEndian.PutUint32(login, binary.LittleEndian.Uint32(login)|canTLS)
	if _, err := u.Write(packet(1, login[:tlsRequest])); err != nil {
		return 0, err
	}
	c := tls.Client(u.Conn, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}) // #nosec G402 -- nobody has signed it
	if err := c.HandshakeContext(ctx); err != nil {
		return 0, fmt.Errorf("encrypt the connection to the server: %w", err)
	}
	u.Conn, u.private = c, true
	return 1, nil
}

// logIn logs in to the server for a client, whose capabilities and attributes it gets. A RefusalError is the server's.
func logIn(ctx context.Context, e client.Endpoint, from response, a account) (_ *upstream, err error) {
	u, err := hello(ctx, e)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = u.Close()
		}
	}()
	r := from
	r.user, r.database, r.plugin = a.user, a.database, u.plugin
	if r.auth, err = answerTo(u.plugin, a.password, u.salt); err != nil {
		// The server asks again, in a way that it says.
		r.plugin, r.auth = native, nil
	}
	login := r.payload(from.can & u.can &^ neither)
	seq, err := u.encrypt(ctx, login)
	if err != nil {
		return nil, err
	}
	if _, err := u.Write(packet(seq+1, login)); err != nil {
		return nil, err
	}
	if u.ok, err = u.answer(a.password); err != nil {
		return nil, err
	}
	if r.wide() {
		if _, err := u.Write(packet(0, r.change())); err != nil {
			return nil, err
		}
		if u.ok, err = u.answer(a.password); err != nil {
			return nil, err
		}
	}
	return u, u.SetDeadline(time.Time{})
}

func answerTo(plugin, password string, salt []byte) ([]byte, error) {
	w, known := ways[plugin]
	if !known || w.answer == nil {
		return nil, fmt.Errorf("the server asks for the password by %s, which ramaria front does not know", plugin)
	}
	return w.answer([]byte(password), salt), nil
}

// answer goes on with a login until the server says that all is well.
func (u *upstream) answer(password string) ([]byte, error) {
	for {
		payload, seq, err := readPacket(u, uncounted)
		if err != nil {
			return nil, fmt.Errorf("log in to the server: %w", err)
		}
		if len(payload) == 0 {
			return nil, fmt.Errorf("log in to the server: %w", errPacket)
		}
		var say []byte
		switch payload[0] {
		case isOK:
			return payload, nil
		case isErr:
			return nil, refusalOf(payload)
		case isSwap:
			f := fields{b: payload[1:]}
			plugin := f.text()
			if say, err = answerTo(plugin, password, bytes.TrimSuffix(f.b, []byte{0})); err != nil {
				return nil, err
			}
		case isMore:
			if bytes.Equal(payload[1:], []byte{cachedWell}) {
				continue
			}
			if !bytes.Equal(payload[1:], []byte{wantsAll}) {
				return nil, errors.New("log in to the server: it asks for what ramaria front does not know")
			}
			if !u.private {
				return nil, errors.New("log in to the server: it wants the password, which others on the way could read, and offers no TLS")
			}
			say = append([]byte(password), 0)
		default:
			return nil, fmt.Errorf("log in to the server: %w", errPacket)
		}
		if _, err := u.Write(packet(seq+1, say)); err != nil {
			return nil, err
		}
	}
}
