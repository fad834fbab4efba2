package api

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mode returns a file's permissions.
func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

// TestListenMode makes sockets under a umask that forbids nothing. Listen changes no
// mode after it has bound: what the file has now it had from the first moment on.
func TestListenMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	control, socket := tempSocket(t), tempSocket(t)
	for path, listen := range map[string]func(string) (net.Listener, error){
		control: func(path string) (net.Listener, error) { return net.Listen("unix", path) },
		socket:  Listen,
	} {
		l, err := listen(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	if m := mode(t, control); m&0o077 == 0 {
		t.Errorf("the control has mode %04o: this shows nothing", m)
	}
	if m := mode(t, socket); m != 0o600 {
		t.Errorf("mode %04o", m)
	}
}

// TestListenReplaces replaces a socket that a killed process left.
func TestListenReplaces(t *testing.T) {
	path := tempSocket(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal("the test left no socket behind")
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if m := mode(t, path); m != 0o600 {
		t.Errorf("mode %04o", m)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestListenRefuses leaves alone what it must not replace.
func TestListenRefuses(t *testing.T) {
	living := tempSocket(t)
	l, err := Listen(living)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, dir, link := tempSocket(t), tempSocket(t), tempSocket(t)
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(dir, 0o700), os.Symlink(living, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		living: ErrListening, file: fs.ErrExist, dir: fs.ErrExist, link: fs.ErrExist,
		filepath.Join(dir, "none", "api.sock"): fs.ErrNotExist,
	} {
		if l, err := Listen(path); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", path, err, want)
			if err == nil {
				l.Close()
			}
		}
	}
	c, err := net.Dial("unix", living)
	if err != nil {
		t.Fatalf("the living socket is gone: %v", err)
	}
	c.Close()
	long := filepath.Join(filepath.Dir(living), strings.Repeat("x", MaxPath))
	if _, err := Listen(long); err == nil || !strings.Contains(err.Error(), "at most 107 bytes") {
		t.Errorf("long path: %v", err)
	}
}

// TestListenPathLimit holds MaxPath against the kernel.
func TestListenPathLimit(t *testing.T) {
	dir := filepath.Dir(tempSocket(t)) + "/"
	l, err := Listen(dir + strings.Repeat("x", MaxPath-len(dir)))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if l, err := listen(dir + strings.Repeat("x", MaxPath+1-len(dir))); err == nil {
		l.Close()
		t.Error("the kernel takes longer paths")
	}
}
