package front

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDialFullQueue: a connection for which a socket's queue has no room waits for its turn, and no longer than it may.
func TestDialFullQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for { // until it is full
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dialSocket(short, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody accepts: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
	})
	c, err := dialSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// TestCompressingClient: mysqlnd of PHP compresses when it is told to, whatever was offered.
func TestCompressingClient(t *testing.T) {
	r := response{can: can41 | canSecure, user: "app"}
	if _, err := parseResponse(r.payload(r.can)); err != nil {
		t.Fatal(err)
	}
	var refused *RefusalError
	for _, c := range []uint32{canCompress, canZstd} {
		if _, err := parseResponse(r.payload(r.can | c)); !errors.As(err, &refused) || refused.Code != erHandshake {
			t.Errorf("with capability %#x: %v, want it refused", c, err)
		}
	}
}

// TestProven: the proof takes the place of the message, and what has changed of the session stays for who reads it.
func TestProven(t *testing.T) {
	const proof = "\x01ABCD"
	state := "\x08\x01\x06\x05shop1"
	for _, c := range []struct {
		ok, want string
		tracked  bool
	}{
		{"\x00\x00\x00\x02\x40\x00\x00" + "\x02hi" + state, "\x00\x00\x00\x02\x40\x00\x00" + "\x05" + proof + state, true},
		{"\x00\x00\x00\x02\x40\x00\x00" + "\x00" + state, "\x00\x00\x00\x02\x40\x00\x00" + "\x05" + proof + state, true},
		{"\x00\x00\x00\x02\x40\x00\x00" + "hi", "\x00\x00\x00\x02\x00\x00\x00" + "\x05" + proof, false},
		{"\x00\x00\x00\x02\x00\x00\x00", "\x00\x00\x00\x02\x00\x00\x00" + "\x05" + proof, true},
		{"\x00\x00", "\x00\x00", true},
	} {
		if got := string(proven([]byte(c.ok), []byte(proof), c.tracked)); got != c.want {
			t.Errorf("%q: %q, want %q", c.ok, got, c.want)
		}
	}
}

// TestChange reads what it writes; a collation that a login has no room for leaves another there.
func TestChange(t *testing.T) {
	before := response{can: can41 | canSecure | canPlugin | canAttributes, most: mostLogin, collation: utf8mb4, user: "app", auth: []byte{1}, plugin: native}
	for _, collation := range []uint16{8, 255, 256, 309, 2304} {
		want := before
		want.user, want.database, want.collation, want.auth, want.attributes = "ann", "shop@1", collation, nil, []byte{2, 1, 'a'}
		got, err := parseChange(want.change(), before)
		if err != nil || got.collation != collation || got.user != want.user || got.database != want.database || got.plugin != want.plugin || !bytes.Equal(got.attributes, want.attributes) || len(got.auth) > 0 {
			t.Errorf("%+v is read as %+v, %v", want, got, err)
		}
		login, err := parseResponse(got.payload(got.can))
		if err != nil {
			t.Fatal(err)
		}
		if collation > 0xff {
			collation = utf8mb4
		}
		if login.collation != collation {
			t.Errorf("the login of collation %d has %d", got.collation, login.collation)
		}
	}
}
