package api

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// ListenTLS listens at a TCP address, with a certificate and TLS 1.3. Those who have not shown the token yet are bounded
// as everywhere (lobby.Default): nobody else waits for them.
func ListenTLS(ctx context.Context, address string, c tls.Certificate) (net.Listener, error) {
	return ListenTLSWith(ctx, address, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}})
}

// ListenTLSWith is ListenTLS for a configuration of one's own.
func ListenTLSWith(ctx context.Context, address string, config *tls.Config) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(lobby.New(lobby.Default).Listener(l, lobby.TLS), config), nil
}
