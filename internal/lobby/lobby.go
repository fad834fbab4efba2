// Package lobby bounds the connections of those who have not shown yet who they are: by number, by memory, by peer and
// by time. Anybody can make such connections, and they must hold up nobody who is known.
//
// The invariant: whoever comes gets in, and what is too much goes, the oldest first, since who is honest shows at once
// who it is.
package lobby

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits bound those in a lobby.
type Limits struct {
	Number     int   // of connections
	Peer       int   // of connections of one peer: an address, of IPv6 a network of 64 bits
	Memory     int64 // of all together, in bytes
	PeerMemory int64 // of those of one peer, in bytes; 0 is Memory
	Time       time.Duration
}

// DefaultTime is the time that servers give (connect_timeout).
const DefaultTime = 10 * time.Second

// Default is what all doors have: as many as a machine's tests may open at once, and of one peer half of that.
var Default = Limits{Number: 2000, Peer: 1000, Memory: 32 << 20, PeerMemory: 16 << 20, Time: DefaultTime}

// What a connection takes before its peer is known, in bytes, measured: one with nothing but itself, one that a server of
// HTTP reads from, and one that has begun TLS.
const (
	Plain = 8 << 10
	HTTP  = 20 << 10
	TLS   = 64 << 10
)

// Lobby is where connections wait until their peers are known.
type Lobby struct {
	limits Limits

	mu     sync.Mutex
	guests list.List // of *Guest, the oldest first
	peers  map[netip.Prefix]share
	memory int64
}

// share is what one peer has of a lobby.
type share struct {
	guests int
	memory int64
}

// New returns an empty one.
func New(l Limits) *Lobby { return &Lobby{limits: l, peers: map[netip.Prefix]share{}} }

// Guest is a connection in a lobby.
type Guest struct {
	lobby *Lobby
	conn  net.Conn
	peer  netip.Prefix
	late  *time.Timer

	// The rest is under lobby.mu.
	takes int64
	at    *list.Element // nil once it has left
}

// Enter lets a connection in that takes so many bytes. The oldest are closed where there are too many.
func (l *Lobby) Enter(c net.Conn, takes int64) *Guest {
	g := &Guest{lobby: l, conn: c, peer: peerOf(c)}
	g.late = time.AfterFunc(l.limits.Time, g.turnOut)
	l.mu.Lock()
	g.at = l.guests.PushBack(g)
	l.count(g, 1, takes)
	out := l.bound(g.peer)
	l.mu.Unlock()
	closeAll(out)
	return g
}

// Takes says how many bytes a guest takes now.
func (g *Guest) Takes(bytes int64) {
	l := g.lobby
	l.mu.Lock()
	var out []*Guest
	if g.at != nil {
		l.count(g, 0, bytes)
		out = l.bound(g.peer)
	}
	l.mu.Unlock()
	closeAll(out)
}

// Leave says that the guest is known, or has gone. It may be called more than once.
func (g *Guest) Leave() {
	g.lobby.mu.Lock()
	defer g.lobby.mu.Unlock()
	g.lobby.leave(g)
}

// turnOut closes the connection of a guest that has had its time.
func (g *Guest) turnOut() {
	g.lobby.mu.Lock()
	there := g.at != nil
	g.lobby.leave(g)
	g.lobby.mu.Unlock()
	if there {
		_ = g.conn.Close()
	}
}

// count, bound, crowds and leave are called with mu held.

// count notes how many bytes a guest takes now, and that it has come (1) or goes (-1).
func (l *Lobby) count(g *Guest, guests int, takes int64) {
	s := l.peers[g.peer]
	s.guests += guests
	s.memory += takes - g.takes
	l.memory += takes - g.takes
	g.takes = takes
	if l.peers[g.peer] = s; s.guests == 0 {
		delete(l.peers, g.peer)
	}
}

// bound has those leave who are too much, the oldest first: of a peer that has too much, and then of all. It returns
// them.
func (l *Lobby) bound(peer netip.Prefix) (out []*Guest) {
	for e := l.guests.Front(); e != nil && l.crowds(peer); {
		g := e.Value.(*Guest)
		e = e.Next()
		if g.peer == peer {
			l.leave(g)
			out = append(out, g)
		}
	}
	for l.guests.Len() > l.limits.Number || l.memory > l.limits.Memory && l.guests.Len() > 1 {
		g := l.guests.Front().Value.(*Guest)
		l.leave(g)
		out = append(out, g)
	}
	return out
}

// crowds reports whether a peer has too much. One connection of it may stay, whatever it takes.
func (l *Lobby) crowds(peer netip.Prefix) bool {
	s, most := l.peers[peer], l.limits.PeerMemory
	return s.guests > l.limits.Peer || most > 0 && s.memory > most && s.guests > 1
}

func (l *Lobby) leave(g *Guest) {
	if g.at == nil {
		return
	}
	g.late.Stop()
	l.guests.Remove(g.at)
	g.at = nil
	l.count(g, -1, 0)
}

func closeAll(guests []*Guest) {
	for _, g := range guests {
		_ = g.conn.Close()
	}
}

// peerOf is who has made a connection. Who has one address of IPv6 mostly has a network of them.
func peerOf(c net.Conn) netip.Prefix {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // bits are in its range
	return p
}

// Listener lets whom l accepts into a lobby. Known takes them out of it.
func (l *Lobby) Listener(in net.Listener, takes int64) net.Listener { return &listener{in, l, takes} }

type listener struct {
	net.Listener
	lobby *Lobby
	takes int64
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c, l.lobby.Enter(c, l.takes)}, nil
}

type conn struct {
	net.Conn
	guest *Guest
}

func (c *conn) Close() error {
	c.guest.Leave()
	return c.Conn.Close()
}

// key is that of a guest in the context of a request.
type key struct{}

// Context is for http.Server.ConnContext: Known finds the connection in it.
func Context(ctx context.Context, c net.Conn) context.Context {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	if c, ok := c.(*conn); ok {
		return context.WithValue(ctx, key{}, c.guest)
	}
	return ctx
}

// Known says that the peer of a request has shown who it is; one whose connection is in no lobby needs not.
func Known(ctx context.Context) {
	if g, ok := ctx.Value(key{}).(*Guest); ok {
		g.Leave()
	}
}
