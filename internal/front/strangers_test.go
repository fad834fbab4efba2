package front

import (
	"context"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// TestStrangers: a connection takes little before its client has logged in, whatever length that has announced, and of
// many only as many stay as may.
func TestStrangers(t *testing.T) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	many := 15000
	if room := int(min(files.Cur, 1<<20)) - 4000; room < many {
		t.Logf("as many as there is room for: %d, not %d", room, many)
		many = room
	}
	const few = 2000
	d, address := openTo(t, lobby.New(lobby.Limits{Number: few, Peer: few, Memory: 1 << 30, Time: time.Minute}))
	measure(t) // what is made once
	heap, rss := measure(t)
	for range few {
		stranger(t, address)
	}
	if !eventually(func() bool { return d.count() == few }) {
		t.Fatalf("%d are in, want %d", d.count(), few)
	}
	heapAfter, rssAfter := measure(t)
	each, eachRSS := (heapAfter-heap)/few, (rssAfter-rss)/few
	t.Logf("a connection takes %d bytes of heap and stack, and %d of resident memory", each, eachRSS)
	if !raced && (each > lobby.Plain || eachRSS > lobby.Plain) {
		t.Errorf("a connection takes %d bytes, %d of resident memory; at most %d are right", each, eachRSS, lobby.Plain)
	}
	for range many - few {
		stranger(t, address)
	}
	if !eventually(func() bool { return d.count() <= few }) {
		t.Errorf("%d are in, of %d; want %d", d.count(), many, few)
	}
	if _, now := measure(t); !raced && now-rss > 2*few*lobby.Plain {
		t.Errorf("after %d connections it takes %d MB more", many, (now-rss)>>20)
	}
}

// openTo opens a door that knows its server's greeting, and what its instance says.
func openTo(t *testing.T, l *lobby.Lobby) (*Door, string) {
	t.Helper()
	d, err := New(Config{Name: "test", Login: Login{"app", "secret"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	d.lobby, d.asked = l, time.Now().Add(time.Hour)
	d.greeting = greeting{version: "11.8.3-MariaDB", salt: newSalt(saltBytes), can: 0x81bff7fe, plugin: native}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d, listener.Addr().String()
}

func (d *Door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sessions)
}

// stranger connects, and announces a packet of 64 KB. It is a socket alone, which takes no memory of this process.
func stranger(t *testing.T, address string) {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	_ = unix.Sendto(fd, []byte{0, 0, 1, 1, 'x'}, unix.MSG_NOSIGNAL, nil) // it may be gone
}

// measure is what is in use of heap and stacks, and what of this process is in memory, in bytes.
func measure(t *testing.T) (used, resident int) {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return int(m.HeapAlloc + m.StackInuse), pages * os.Getpagesize()
}

func eventually(f func() bool) bool {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return true
		}
	}
	return false
}
