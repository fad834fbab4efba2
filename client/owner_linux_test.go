package client

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// listenAs listens on socket as another user: only the thread changes, and dies.
func listenAs(t *testing.T, uid int, socket string) net.Listener {
	t.Helper()
	type result struct {
		l   net.Listener
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: nothing else may run on it
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			made <- result{err: errno}
			return
		}
		l, err := net.Listen("unix", socket)
		made <- result{l, err}
	}()
	r := <-made
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.l
}

// TestOtherPeer refuses another user who listens behind a file of one's own, as after
// a link was changed between the look at the file and the connection.
func TestOtherPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can listen as another user")
	}
	const other = 4242
	socket, asked := tempSocket(t), false
	if err := os.Chown(filepath.Dir(socket), other, -1); err != nil {
		t.Fatal(err)
	}
	l := listenAs(t, other, socket)
	ended := make(chan error, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true })}
	go func() { ended <- s.Serve(l) }()
	defer func() {
		s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	if err := os.Lchown(socket, 0, -1); err != nil {
		t.Fatal(err)
	}
	if err := checkFile(socket); err != nil {
		t.Fatalf("the file gives it away already: %v", err)
	}
	_, err := New(socket).Status(t.Context())
	if err == nil || asked || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "listened on by user 4242") {
		t.Errorf("got %v, asked: %v", err, asked)
	}
}
