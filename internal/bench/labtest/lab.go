package labtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/benchtest"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// builds is the binary of this source, built once.
var builds = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ramaria")
	if err := servertest.Build(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Real is a lab with ramaria, a real server and the tools that scenarios use.
func Real(t *testing.T, want string) *lab.Lab {
	t.Helper()
	srv := servertest.Find(t, want)
	dir := benchtest.OnDisk(t)
	binary, err := builds()
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "ramaria")
	if err := os.WriteFile(exe, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	var account server.Account
	if os.Geteuid() == 0 {
		account = server.Account{UID: host.ReservedID, GID: host.ReservedID}
	}
	l, err := lab.New(t.Context(), exe, dir, host.Host{}, servertest.Dir(t), srv, account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	tools := servertest.Finder(t)
	tools.NoFetch = os.Getenv(servertest.EnvOffline) == "1"
	l.Sysbench = func(ctx context.Context) (server.Program, error) { return tools.Tool(ctx, software.Sysbench) }
	l.Options.Volumes = []volume.Kind{volume.Shm}
	return l
}

// Bare is a lab that can make scenarios, and run none.
func Bare(t *testing.T, o lab.Options) *lab.Lab {
	t.Helper()
	o.Volumes = append(o.Volumes, volume.Shm)
	return &lab.Lab{Server: &server.Server{Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11}}, Host: Host(t, ""), Dir: t.TempDir(), Options: o}
}

// Host is a machine with these mounts, "" for none that can be read, and this one's memory.
// It has no block device.
func Host(t *testing.T, mountinfo string) host.Host {
	t.Helper()
	proc := filepath.Join(t.TempDir(), "proc")
	memory, err := os.ReadFile("/proc/meminfo")
	if err := errors.Join(err, os.MkdirAll(filepath.Join(proc, "self"), 0o755), os.WriteFile(filepath.Join(proc, "meminfo"), memory, 0o600)); err != nil {
		t.Fatal(err)
	}
	if mountinfo != "" {
		if err := os.WriteFile(filepath.Join(proc, "self", "mountinfo"), []byte(mountinfo), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return host.Host{Root: filepath.Dir(proc)}
}

// Small is a lab on a machine with so many MB of memory.
func Small(t *testing.T, megabytes string) *lab.Lab {
	t.Helper()
	l := Bare(t, lab.Options{})
	l.Home, l.Host = t.TempDir(), Host(t, "")
	text := "MemTotal: " + megabytes + "000 kB\nMemAvailable: " + megabytes + "000 kB\n"
	if err := os.WriteFile(filepath.Join(l.Host.Root, "proc", "meminfo"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}
