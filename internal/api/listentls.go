package api

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// MaxRemote is how many connections clients on other machines may have at a time: before the token was read anybody can
// make some, and each takes a file.
const MaxRemote = 1000

// ListenTLS listens at a TCP address, with a certificate and TLS 1.3. Beyond MaxRemote connections the next wait.
func ListenTLS(ctx context.Context, address string, c tls.Certificate) (net.Listener, error) {
	return ListenTLSWith(ctx, address, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}})
}

// ListenTLSWith is ListenTLS for a configuration of one's own.
func ListenTLSWith(ctx context.Context, address string, config *tls.Config) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	limited := &limitedListener{Listener: l, free: make(chan struct{}, MaxRemote), over: make(chan struct{})}
	return tls.NewListener(limited, config), nil
}

// limitedListener accepts no more connections than it has room for.
type limitedListener struct {
	net.Listener
	free chan struct{} // holds one element for each connection
	once sync.Once
	over chan struct{} // closed by Close
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
