package sys

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// restricted calls try on a thread that is confined and ends with the call.
func restricted(t *testing.T, r Ruleset, try func() error) error {
	t.Helper()
	if Landlock() < LeastLandlock {
		t.Skip("SKIPPED, UNTESTED: no Landlock on this machine")
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if err := RestrictSelf(r); err != nil {
			result <- err
			return
		}
		result <- try()
	}()
	return <-result
}

func TestRestrictSelf(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"own", "own/sub", "read", "other"} {
		if err := errors.Join(os.Mkdir(path(name), 0o755), os.WriteFile(path(name+"/file"), []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(path("other/file"), path("own/link")); err != nil {
		t.Fatal(err)
	}
	rules := Ruleset{
		ReadWrite: []string{path("own"), path("missing"), os.DevNull},
		ReadOnly:  []string{path("read")},
	}
	read := func(name string) func() error {
		return func() error { _, err := os.ReadFile(path(name)); return err }
	}
	write := func(name string) func() error {
		return func() error { return os.WriteFile(path(name), nil, 0o644) }
	}
	for name, test := range map[string]struct {
		try     func() error
		refused bool
	}{
		"read its own":                {read("own/file"), false},
		"write its own":               {write("own/file"), false},
		"make its own":                {write("own/new"), false},
		"move within":                 {func() error { return os.Rename(path("own/sub/file"), path("own/moved")) }, false},
		"remove its own":              {func() error { return os.Remove(path("own/sub")) }, false},
		"read what may be read":       {read("read/file"), false},
		"write what may be read":      {write("read/file"), true},
		"make where may be read":      {write("read/new"), true},
		"read another's":              {read("other/file"), true},
		"read another's by a link":    {read("own/link"), true},
		"write another's":             {write("other/file"), true},
		"list another's":              {func() error { _, err := os.ReadDir(path("other")); return err }, true},
		"move out":                    {func() error { return os.Rename(path("own/file"), path("other/moved")) }, true},
		"bring in by a link":          {func() error { return os.Link(path("other/file"), path("own/linked")) }, true},
		"lead out by a symbolic link": {func() error { return os.Symlink("x", path("own/x")) }, true},
		"write to nothing":            {func() error { return os.WriteFile(os.DevNull, []byte("x"), 0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "remove its own" {
				_ = os.Remove(path("own/sub/file")) // it may have been moved
			}
			err := restricted(t, rules, test.try)
			refused := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EXDEV)
			if refused != test.refused || !test.refused && err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v, want refused: %v", err, test.refused)
			}
		})
	}
	// Only that thread was confined.
	if _, err := os.ReadFile(path("other/file")); err != nil {
		t.Errorf("the process itself: %v", err)
	}
}

func TestRestrictSelfPorts(t *testing.T) {
	if Landlock() < 4 {
		t.Skip("SKIPPED, UNTESTED: this Landlock knows no ports")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	listen := func(port int) func() error {
		return func() error {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		}
	}
	if err := restricted(t, Ruleset{Ports: []int{port}}, listen(port)); err != nil {
		t.Errorf("its own port: %v", err)
	}
	for name, ports := range map[string][]int{"another port": {port + 1}, "no port": {}} {
		if err := restricted(t, Ruleset{Ports: ports}, listen(port)); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: got %v, want EACCES", name, err)
		}
	}
	if err := restricted(t, Ruleset{}, listen(port)); err != nil {
		t.Errorf("any port: %v", err)
	}
}

// TestRestrictSelfSignals: a confined process sends none to those that it did not start.
func TestRestrictSelfSignals(t *testing.T) {
	if Landlock() < 6 {
		t.Skip("SKIPPED, UNTESTED: this Landlock knows no signals")
	}
	kill := func() error { return syscall.Kill(os.Getppid(), 0) }
	before := kill()
	if err := restricted(t, Ruleset{}, kill); before == nil && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a signal to the parent: got %v, want EPERM", err)
	}
}

// TestRestrictSelfSockets: a confined process connects to sockets of its own only, where the kernel knows.
func TestRestrictSelfSockets(t *testing.T) {
	if Landlock() < 9 {
		t.Skip("SKIPPED, UNTESTED: this Landlock knows no sockets that have a path (Linux 7.1)")
	}
	dir := t.TempDir()
	connect := func(path string) error {
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
		}
		return err
	}
	theirs := filepath.Join(dir, "theirs")
	l, err := net.Listen("unix", theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rules := Ruleset{ReadWrite: []string{dir}}
	if err := restricted(t, rules, func() error { return connect(theirs) }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("another's socket: got %v, want EACCES", err)
	}
	if err := restricted(t, rules, func() error {
		own := filepath.Join(dir, "own")
		l, err := net.Listen("unix", own)
		if err != nil {
			return err
		}
		defer l.Close()
		return connect(own)
	}); err != nil {
		t.Errorf("its own socket: %v", err)
	}
}
