package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if err := ClaimSocket(path, Account{}); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := ClaimSocket(path, Account{}); !errors.Is(err, ErrSocketTaken) {
		t.Errorf("a socket that answers: %v", err)
	}
	if err := RemoveDeadSocket(path, []int{os.Geteuid()}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a socket that answers was removed: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".lock", []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ClaimSocket(path, Account{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".lock"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is there still", name)
		}
	}
}

func TestClaimSocketRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"rel":                                    "not the path of a file",
		file:                                     "no socket",
		filepath.Join(open, "s"):                 "anybody may write",
		filepath.Join(dir, "no", "s"):            "no such file",
		"/" + strings.Repeat("x", longestSocket): "at most 100",
	} {
		if err := ClaimSocket(path, Account{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := ClaimSocket(filepath.Join(open, "s"), Account{}); err != nil {
		t.Errorf("with a sticky bit: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "x" {
		t.Errorf("the file is %q, %v", b, err)
	}
}
