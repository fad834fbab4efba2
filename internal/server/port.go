package server

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// FreePort returns a TCP port on loopback that nobody used just now. Another
// process may take it before a server does; see PortTaken.
func FreePort(ctx context.Context) (int, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// TryPort returns an error when the TCP port on loopback is in use or may not be
// used.
func TryPort(ctx context.Context, port int) error {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("use port %d: %w\nhint: --port 0 takes any free one; ss -ltnp shows who has it", port, err)
	}
	return l.Close()
}
