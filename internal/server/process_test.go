package server

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProcessSession starts a process in the caller's session, or in one of its own, and
// always in a group of its own.
func TestProcessSession(t *testing.T) {
	own, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Origin: OriginPath, Daemon: Program{Argv: []string{"/bin/sh", "-c", "exec cat /proc/self/stat"}}}
	for name, start := range map[string]func(string, Config, Account, string, *os.File, Syncing) (*Process, error){"start": s.Start, "apart": s.StartApart} {
		path := filepath.Join(t.TempDir(), "log")
		log, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := start("none", Config{}, Account{}, t.TempDir(), log, Synced)
		log.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Of proc_pid_stat(5), the group is the third field behind the name, the session the fourth.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 4 {
			t.Fatalf("%s: it said %q", name, text)
		}
		session := own
		if name == "apart" {
			session = p.PID()
		}
		if fields[2] != strconv.Itoa(p.PID()) || fields[3] != strconv.Itoa(session) {
			t.Errorf("%s: process %d is in group %s of session %s; want %d of %d", name, p.PID(), fields[2], fields[3], p.PID(), session)
		}
	}
}
