package service

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeSystemctl puts a systemctl in the path.
func fakeSystemctl(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestForeign: the unit behind an alias, and what starts it unasked.
func TestForeign(t *testing.T) {
	fakeSystemctl(t, `case "$*" in
*TriggeredBy*) printf 'Id=mariadb.service\nLoadState=loaded\nActiveState=active\nMainPID=7\nControlGroup=/system.slice/mariadb.service\nTriggeredBy=mariadb.socket mariadb-extra.socket\n' ;;
*mariadb.socket) echo active ;;
*mariadb-extra.socket) echo inactive ;;
esac
`)
	f, err := System.Foreign(t.Context(), "mysql")
	if err != nil {
		t.Fatal(err)
	}
	want := &Foreign{Manager: System, Name: "mariadb.service", Active: true, PID: 7, Group: "/system.slice/mariadb.service", DropIns: []string{}, Triggers: []string{"mariadb.socket"}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if _, err := System.Foreign(t.Context(), "m*"); !errors.Is(err, ErrNoUnit) {
		t.Errorf("of a pattern: %v", err)
	}
	for name, want := range map[string]bool{"ramaria@shop.service": true, "ramaria-shop.service": true, "mariadb.service": false} {
		if got := (&Foreign{Name: name}).OfInstance(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStandIn: the drop-in is loaded at once, so that the service's own server cannot start any more.
func TestStandIn(t *testing.T) {
	dir := t.TempDir()
	fakeSystemctl(t, `echo "$@" >> `+filepath.Join(dir, "log")+"\n")
	f := &Foreign{Manager: Manager{Dir: dir}, Name: "mariadb.service"}
	if err := f.StandIn(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if f.StandsIn() != "shop" {
		t.Errorf("%q stands in", f.StandsIn())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "ramaria-failed@shop.target")); err != nil || !strings.Contains(string(text), "\nConflicts=mariadb.service\n") {
		t.Errorf("what ends it: %s, %v", text, err)
	}
	if text := (Unit{Instance: "shop", StandsInFor: f.Name}).Text(); !strings.Contains(text, "\nOnFailure=ramaria-failed@shop.target\n") {
		t.Errorf("what ends it is not started: %s", text)
	}
	defer func() {
		if err := f.EndStandIn(t.Context()); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.target")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}()
	if text, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !strings.Contains(string(text), "daemon-reload") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestStartStandIn: what an instance stands in for starts with it, but never without the drop-in.
func TestStartStandIn(t *testing.T) {
	dir := t.TempDir()
	fakeSystemctl(t, `echo "$@" >> `+filepath.Join(dir, "log")+"\n")
	i := &Installed{Manager: Manager{Dir: dir}, Instance: "shop", Text: Unit{Instance: "shop", StandsInFor: "mariadb.service"}.Text()}
	f := &Foreign{Manager: i.Manager, Name: "mariadb.service"}
	if err := i.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || strings.Contains(string(text), "mariadb") {
		t.Errorf("without the drop-in: %s, %v", text, err)
	}
	if err := errors.Join(f.StandIn(t.Context(), "shop"), i.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !strings.HasSuffix(string(text), "start ramaria@shop.service mariadb.service\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestAfterwards: only an end that was asked for is forgotten, and ends what the instance stands in for.
func TestAfterwards(t *testing.T) {
	dir := t.TempDir()
	fakeSystemctl(t, `echo "$@" >> `+filepath.Join(dir, "log")+"\n")
	line := strings.ReplaceAll(Unit{Instance: "shop", StandsInFor: "maria@a.service"}.afterwards(), "$$", "$") // as systemd reads it
	command := strings.TrimPrefix(line, "-+/bin/sh -c ")
	if command == line {
		t.Fatal(line)
	}
	for result, want := range map[string]string{"exit-code": "", "success": "reset-failed ramaria@shop.service\n--no-block --quiet --job-mode=fail stop maria@a.service\n"} {
		cmd := exec.Command("sh", "-c", "sh -c "+command)
		cmd.Env = append(os.Environ(), "SERVICE_RESULT="+result)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s, %v", result, out, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil && !errors.Is(err, os.ErrNotExist) || string(text) != want {
			t.Errorf("%s: %q, %v", result, text, err)
		}
		_ = os.Remove(filepath.Join(dir, "log"))
	}
}

// TestInterrupt: an interrupt from the terminal, which goes to a process group, does not end what waits for systemd.
func TestInterrupt(t *testing.T) {
	fakeSystemctl(t, "ps -o pgid= -p $$\necho $$\n")
	out, err := System.ctl(t.Context(), "start", "x")
	if words := strings.Fields(out); err != nil || len(words) != 2 || words[0] != words[1] {
		t.Errorf("group and process: %q, %v", out, err)
	}
}
