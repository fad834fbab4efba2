package server

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

const (
	// firstPort and lastPort bound the ports that servers get. Of these, firstMember to lastMember are left to members of
	// clusters: the others know a member by its ports, which nobody else may have taken while it was down.
	firstPort, lastPort     = 20000, 65535
	firstMember, lastMember = 30000, 32767
	// portTries is how many ports are tried before the kernel is asked for any.
	portTries = 50
)

// FreePort returns a TCP port at an address of this machine that was free just now. Another
// process may take it before a server does; see PortTaken.
//
// It is none of those that the kernel hands out to anybody: a server that restarts, or an
// instance that was down, would too often find its port, which applications know, taken
// by an outgoing connection of some other program.
func FreePort(ctx context.Context, at string) (int, error) {
	return freePort(ctx, at, firstPort, lastPort, func(port int) bool { return port < firstMember || port > lastMember })
}

// FreeMemberPort is FreePort for a member of a cluster, which keeps it.
func FreeMemberPort(ctx context.Context, at string) (int, error) {
	if first, last := (host.Host{}).OutgoingPorts(); first <= firstMember && last >= lastMember {
		return FreePort(ctx, at)
	}
	return freePort(ctx, at, firstMember, lastMember, func(int) bool { return true })
}

func freePort(ctx context.Context, at string, first, last int, fits func(port int) bool) (int, error) {
	outFirst, outLast := (host.Host{}).OutgoingPorts()
	for range portTries {
		port := first + rand.IntN(last+1-first) // #nosec G404 -- need not be hard to guess
		if port >= outFirst && port <= outLast || !fits(port) {
			continue
		}
		if TryPort(ctx, at, port) == nil {
			return port, nil
		}
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// Loopback is the address at which servers listen unless bind_address says otherwise.
const Loopback = "127.0.0.1"

// BindHost is where clients on this machine reach a server with such a bind_address: at the first of its addresses, or on
// loopback where it has none, or means all.
func BindHost(bind string) string {
	first, _, _ := strings.Cut(bind, ",")
	switch first = strings.TrimSpace(first); first {
	case "", "*", "0.0.0.0", "::":
		return Loopback
	}
	return first
}

// ListensAt reports whether a server with such a bind_address listens at a host: an IP address, localhost, or "" for all
// addresses.
func ListensAt(bind, host string) bool {
	want := net.ParseIP(host)
	if host == "localhost" {
		want = net.ParseIP(Loopback)
	}
	all := host == "" || want != nil && want.IsUnspecified()
	for one := range strings.SplitSeq(cmp.Or(bind, Loopback), ",") {
		one = strings.TrimSpace(one)
		is := net.ParseIP(one)
		switch {
		case one == "*" || one == "::": // of both kinds
			return true
		case one == "0.0.0.0" && (all || want.To4() != nil):
			return true
		case one == "localhost" && want.IsLoopback(), !all && is != nil && is.Equal(want):
			return true
		}
	}
	return false
}

// TryPort returns an error when the TCP port at an address of this machine is in use or may not be
// used.
func TryPort(ctx context.Context, host string, port int) error {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("use port %d: %w\nhint: --port 0 takes any free one; ss -ltnp shows who has it", port, err)
	}
	return l.Close()
}
