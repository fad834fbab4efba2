package lobby

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"
)

// caller is a connection that notes that it was closed.
type caller struct {
	net.Conn
	from   string
	closed chan struct{}
}

func call(from string) *caller { return &caller{from: from, closed: make(chan struct{})} }

func (c *caller) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), 1))
}

func (c *caller) Close() error { close(c.closed); return nil }

func (c *caller) gone() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// TestBounds: who is too much goes, the oldest first, and nobody who is known.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		takes  int64
		from   []string
		known  int // which of them is known before the last comes, -1 for none
		gone   []int
	}{
		{"number", Limits{Number: 2, Peer: 9, Memory: 99, Time: time.Hour}, 1, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}, -1, []int{0, 1}},
		{"known", Limits{Number: 2, Peer: 9, Memory: 99, Time: time.Hour}, 1, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, 0, nil},
		{"peer", Limits{Number: 9, Peer: 2, Memory: 99, Time: time.Hour}, 1, []string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1"}, -1, []int{0}},
		{"a network", Limits{Number: 9, Peer: 1, Memory: 99, Time: time.Hour}, 1, []string{"2001:db8::1", "2001:db8:0:1::1", "2001:db8::2"}, -1, []int{0}},
		{"memory", Limits{Number: 9, Peer: 9, Memory: 20, Time: time.Hour}, 10, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}, -1, []int{0}},
		{"memory of a peer", Limits{Number: 9, Peer: 9, Memory: 30, PeerMemory: 20, Time: time.Hour}, 10, []string{"10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1"}, -1, []int{1}},
	} {
		l := New(c.limits)
		var callers []*caller
		var guests []*Guest
		for n, from := range c.from {
			if n == len(c.from)-1 && c.known >= 0 {
				guests[c.known].Leave()
			}
			callers = append(callers, call(from))
			guests = append(guests, l.Enter(callers[n], c.takes))
		}
		for n, one := range callers {
			want := false
			for _, g := range c.gone {
				want = want || g == n
			}
			if one.gone() != want {
				t.Errorf("%s: connection %d is gone: %t, want %t", c.name, n, one.gone(), want)
			}
		}
		for _, g := range guests {
			g.Leave()
		}
		if l.memory != 0 || l.guests.Len() != 0 || len(l.peers) != 0 {
			t.Errorf("%s: when all have left there are %d bytes, %d guests, %d peers", c.name, l.memory, l.guests.Len(), len(l.peers))
		}
	}
}

// TestTakes: who takes more while it is there has older ones go.
func TestTakes(t *testing.T) {
	l := New(Limits{Number: 9, Peer: 9, Memory: 30, Time: time.Hour})
	a, b := call("10.0.0.1"), call("10.0.0.2")
	l.Enter(a, 10)
	l.Enter(b, 10).Takes(25)
	if !a.gone() || b.gone() {
		t.Errorf("the first is gone: %t, want true; the second: %t, want false", a.gone(), b.gone())
	}
}

// TestTakesOfAPeer: who takes more has its own older ones go, and nobody else's.
func TestTakesOfAPeer(t *testing.T) {
	l := New(Limits{Number: 9, Peer: 9, Memory: 99, PeerMemory: 30, Time: time.Hour})
	other, a, b := call("10.0.0.2"), call("10.0.0.1"), call("10.0.0.1")
	l.Enter(other, 25)
	l.Enter(a, 10)
	g := l.Enter(b, 10)
	g.Takes(25)
	if other.gone() || !a.gone() || b.gone() {
		t.Errorf("the other's is gone: %t, want false; the older: %t, want true; its own: %t, want false", other.gone(), a.gone(), b.gone())
	}
	g.Takes(99) // of all that the peer has, one may stay
	if b.gone() {
		t.Error("one alone is gone")
	}
}

// TestTime: who does not show who it is goes after a time.
func TestTime(t *testing.T) {
	l := New(Limits{Number: 9, Peer: 9, Memory: 30, Time: 20 * time.Millisecond})
	silent, known := call("10.0.0.1"), call("10.0.0.1")
	l.Enter(silent, 1)
	g := l.Enter(known, 1)
	Known(context.WithValue(t.Context(), key{}, g))
	select {
	case <-silent.closed:
	case <-time.After(time.Minute):
		t.Error("it is still there")
	}
	if known.gone() {
		t.Error("one that is known has gone")
	}
}
