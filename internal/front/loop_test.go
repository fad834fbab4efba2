package front

import (
	"bytes"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// connected is a connection of two sockets.
func connected(t *testing.T) (a, b net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	both := make([]net.Conn, 2)
	for n, fd := range fds {
		f := os.NewFile(uintptr(fd), "socket")
		if both[n], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	t.Cleanup(func() { both[0].Close(); both[1].Close() })
	return both[0], both[1]
}

// A relayed is a client and a server with a loop between them.
type relayed struct {
	client, server net.Conn
	relay          relay
}

func newRelayed(t *testing.T) relayed {
	t.Helper()
	var l loops
	if err := l.start(1); err != nil {
		t.Fatal(err)
	}
	ours, client := connected(t)
	server, up := connected(t)
	r := relayed{client, server, l.relay(ours, up, nil, terms{hushed: func() {}})}
	if r.relay == nil {
		t.Fatal("the loop does not take sockets")
	}
	t.Cleanup(func() {
		_ = r.relay.Close()
		l.close()
		for _, one := range l.all {
			if len(one.pairs) > 0 {
				t.Errorf("%d pairs are left", len(one.pairs))
			}
		}
	})
	return r
}

// rest is what a side hears until it is told that no more comes.
func rest(t *testing.T, c net.Conn) []byte {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(b), err)
	}
	return b
}

func write(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Error(err)
	}
}

// TestLoopSlowReader: who does not read what the other writes makes it wait, and costs no memory.
func TestLoopSlowReader(t *testing.T) {
	const size = 64 << 20
	long := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	for what, sides := range map[string]func(relayed) (from, to net.Conn){
		"client": func(r relayed) (net.Conn, net.Conn) { return r.server, r.client },
		"server": func(r relayed) (net.Conn, net.Conn) { return r.client, r.server },
	} {
		t.Run(what, func(t *testing.T) {
			from, to := sides(newRelayed(t))
			sent := long
			if what == "server" {
				sent = several(0, append([]byte{0x17}, long...))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var all sync.WaitGroup
			all.Go(func() { write(t, from, sent); _ = from.Close() })
			time.Sleep(200 * time.Millisecond)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
				t.Errorf("%d MB allocated while nobody reads", grown>>20)
			}
			if got := rest(t, to); !bytes.Equal(got, sent) {
				t.Errorf("%d bytes arrived, want %d; the first that differs is %d", len(got), len(sent), differs(got, sent))
			}
			all.Wait()
		})
	}
}

// TestLoopEnds: the end of one side is that of the other, after what was said before.
func TestLoopEnds(t *testing.T) {
	query := packet(0, []byte("\x03SELECT 1"))
	t.Run("client", func(t *testing.T) {
		r := newRelayed(t)
		write(t, r.client, query)
		_ = r.client.(*net.UnixConn).CloseWrite()
		if got := rest(t, r.server); !bytes.Equal(got, query) {
			t.Errorf("the server hears %q", got)
		}
		write(t, r.server, query)
		_ = r.server.Close()
		if got := rest(t, r.client); !bytes.Equal(got, query) { // as it would without the door
			t.Errorf("a client that sends no more hears %q", got)
		}
		if r.relay.next() != nil {
			t.Error("a command comes")
		}
	})
	t.Run("server", func(t *testing.T) {
		r := newRelayed(t)
		write(t, r.server, query)
		_ = r.server.Close()
		if got := rest(t, r.client); !bytes.Equal(got, query) {
			t.Errorf("the client hears %q", got)
		}
		if r.relay.next() != nil {
			t.Error("a command comes")
		}
	})
	t.Run("server with a last word", func(t *testing.T) {
		r := newRelayed(t)
		long := several(0, append([]byte{3}, make([]byte, 32<<20)...))
		var all sync.WaitGroup
		all.Go(func() { _, _ = r.client.Write(long) })
		time.Sleep(50 * time.Millisecond) // all buffers are full
		write(t, r.server, query)
		_ = r.server.Close()
		got := make([]byte, len(query))
		if _, err := io.ReadFull(r.client, got); err != nil || !bytes.Equal(got, query) {
			t.Errorf("the client hears %q, %v", got, err)
		}
		if r.relay.next() != nil {
			t.Error("a command comes")
		}
		_ = r.client.Close()
		all.Wait()
	})
	t.Run("door", func(t *testing.T) {
		r := newRelayed(t)
		_ = r.relay.Close()
		for _, c := range []net.Conn{r.client, r.server} {
			if got := rest(t, c); len(got) > 0 {
				t.Errorf("%q comes", got)
			}
		}
		if r.relay.next() != nil {
			t.Error("a command comes")
		}
		r.relay.pass(query)
		if _, _, err := r.relay.release(); err == nil {
			t.Error("what has ended is released")
		}
	})
}

// TestLoopRests: a server that has gone, while its client does not read, keeps the loop from nothing, least of all from
// sleep: epoll tells again and again of a socket that is closed.
func TestLoopRests(t *testing.T) {
	r := newRelayed(t)
	if err := r.server.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, _ := r.server.Write(make([]byte, 16<<20)) // more than the buffers of all sockets
	_ = r.server.Close()
	busy := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := busy()
	time.Sleep(300 * time.Millisecond)
	if spent := busy() - before; spent > 150*time.Millisecond {
		t.Errorf("in 0.3 s, it was busy for %v", spent)
	}
	if got := rest(t, r.client); len(got) != n {
		t.Errorf("%d bytes of %d arrive", len(got), n)
	}
}

// TestChangeOfReset: a client resets its connection behind its wish to log in again.
func TestChangeOfReset(t *testing.T) {
	door := &Door{}
	if err := door.loops.start(1); err != nil {
		t.Fatal(err)
	}
	defer door.loops.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server, up := connected(t)
	write(t, client, packet(0, []byte{isChange, 'a', 0, 0, 0}))
	if err := client.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	s := &session{door: door, raw: ours, client: ours, host: hostOf(ours), guest: lobby.New(lobby.Default).Enter(ours, lobby.Plain), login: response{can: can41 | canSecure}, server: &upstream{Conn: up}}
	s.serveRelay(t.Context())
	s.end()
	if got := rest(t, server); len(got) > 0 {
		t.Errorf("the server hears %q", got)
	}
}

// TestLoopRelease: a client that is released goes on without its server.
func TestLoopRelease(t *testing.T) {
	r := newRelayed(t)
	change := packet(0, []byte{isChange, 'a', 0})
	write(t, r.client, append(bytes.Clone(change), "after"...))
	if got := r.relay.next(); !bytes.Equal(got, change[header:]) {
		t.Fatalf("the command is %q", got)
	}
	c, sent, err := r.relay.release()
	if err != nil || string(sent) != "after" {
		t.Fatalf("%q was sent after it, %v", sent, err)
	}
	defer c.Close()
	if got := rest(t, r.server); len(got) > 0 {
		t.Errorf("the server hears %q", got)
	}
	write(t, r.client, []byte("hello"))
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}
