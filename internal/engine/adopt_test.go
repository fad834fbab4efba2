package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/service"
)

// TestPlanAddress: an instance listens where the service does, and to no network if that listens to none.
func TestPlanAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		options []adopt.Option
		live    adopt.Live
		bind    string
		port    int
	}{
		"all":        {live: adopt.Live{Port: 3306}, bind: "*", port: 3306},
		"one":        {live: adopt.Live{Port: 3306, Bind: "10.0.0.1"}, bind: "10.0.0.1", port: 3306},
		"given":      {options: []adopt.Option{{Name: "bind_address", Value: "10.0.0.2"}}, live: adopt.Live{Port: 3306, Bind: "10.0.0.2"}, bind: "10.0.0.2", port: 3306},
		"no network": {options: []adopt.Option{{Name: "skip_networking", Value: "ON"}}, live: adopt.Live{NoNetwork: true, Bind: "*"}, bind: "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &AdoptPlan{live: &tc.live, Port: tc.live.Port, server: &server.Server{Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11}}}
			p.planSettings(&Engine{}, tc.options)
			if p.spec.Set["bind_address"] != tc.bind || p.spec.Port != tc.port {
				t.Errorf("it listens at %s, port %d", p.spec.Set["bind_address"], p.spec.Port)
			}
		})
	}
}

// TestAnswered: what a server has logged tells whether clients may have been told that their commits are safe.
func TestAnswered(t *testing.T) {
	i := &instance.Instance{Record: instance.Record{Dir: t.TempDir()}}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if answered(i) {
		t.Error("one that never started has")
	}
	write(i.LogPath(), "[ERROR] unknown variable\n")
	if answered(i) {
		t.Error("one that did not come up has")
	}
	write(i.OldLogPath(), "[Note] /usr/sbin/mariadbd: ready for connections.\n")
	if !answered(i) {
		t.Error("one that came up the first time has not")
	}
}

// TestUndoOnServer: the directory of before is not exchanged below a server that somebody has started on it.
func TestUndoOnServer(t *testing.T) {
	r := servertest.Start(t, servertest.Find(t, string(server.MariaDB)))
	g := &giveBack{e: &Engine{}, name: "shop", note: &adoptionNote{DataDir: r.DataDir()}}
	for _, asItWas := range []bool{false, true} {
		if err := g.run(t.Context(), asItWas); !errors.As(err, new(RequestError)) || !strings.Contains(err.Error(), "runs a server on") {
			t.Errorf("got %v", err)
		}
	}
}

// TestUndoLink: a link in the place of the new directory gives its owner nothing.
func TestUndoLink(t *testing.T) {
	dir := t.TempDir()
	target, fresh := filepath.Join(dir, "secret"), filepath.Join(dir, "fresh")
	if err := errors.Join(os.Mkdir(target, 0o700), os.Symlink(target, fresh)); err != nil {
		t.Fatal(err)
	}
	g := &giveBack{note: &adoptionNote{Mode: 0o755, Owner: server.Account{UID: os.Geteuid(), GID: os.Getegid()}}}
	if g.own(fresh) == nil {
		t.Error("the link was followed")
	}
	if fi, err := os.Stat(target); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if err := errors.Join(os.Remove(fresh), os.Mkdir(fresh, 0o700), g.own(fresh)); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(fresh); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

// systemctl puts a systemctl in the path that notes how it was called, and answers by a script.
func systemctl(t *testing.T, script string) (called func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	text := "#!/bin/sh\necho \"$*\" >> " + log + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// TestBackAnswered: an instance that has answered stays when the adoption fails, and the service's server does not start
// on data without what that may have acknowledged. One that has not is removed, and the service starts.
func TestBackAnswered(t *testing.T) {
	dir := t.TempDir()
	calls := systemctl(t, "exit 0\n")
	e := &Engine{UID: 0, Registry: instance.Registry{Dir: filepath.Join(dir, "state")}, Listener: &notes{}}
	e.Places.State = e.Registry.Dir
	i := &instance.Instance{Record: instance.Record{Format: instance.Format, Name: "shop", Volume: "disk", Dir: filepath.Join(dir, "shop")}}
	if err := errors.Join(os.Mkdir(i.Dir, 0o700), os.WriteFile(i.LogPath(), []byte("ready for connections\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f := &service.Foreign{Manager: service.Manager{Dir: filepath.Join(dir, "units")}, Name: "mariadb.service"}
	if err := f.StandIn(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	a := &adoption{e: e, inst: i, plan: &AdoptPlan{Instance: "shop", Service: f.Name, foreign: f}}
	err := a.back(t.Context(), errors.New("the cause"))
	if err == nil || !strings.Contains(err.Error(), "ramaria adopt --undo shop") || f.StandsIn() != "shop" || strings.Contains(calls(), "start") {
		t.Errorf("got %v; %s", err, calls())
	}
	if err := os.WriteFile(i.LogPath(), []byte("unknown variable\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.back(t.Context(), errors.New("the cause")); err == nil || err.Error() != "the cause" || f.StandsIn() != "" {
		t.Errorf("got %v; %s", err, calls())
	}
}
