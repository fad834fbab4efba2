package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestClusterDeaf: the server of a member says that it is ready, and answers nothing. It is ended and started once more, and the
// member says so. The stand-in for such a server is one that is stopped while it starts, whose log gets the words from here.
// One that answered, and hangs before it is in the cluster again, is not waited for.
func TestClusterDeaf(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	const name = "c-2"
	h.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", h.daemon())
	dir := h.instanceDir(testVolume, name)
	type ended struct {
		talk string
		err  error
	}
	// again kills the server, has the cluster be whole again, and stops the new server as soon as it is there, or is ready.
	again := func(ready bool) (pid int, up chan ended) {
		before := h.pids(name).Server
		h.kill(name, func(p pids) int { return p.Server })
		up = make(chan ended, 1)
		go func() {
			_, talk, err := h.try("cluster", "up", "c")
			up <- ended{talk, err}
		}()
		h.until("its server starts", func() bool {
			var s struct {
				Phase string `json:"phase"`
				PID   int    `json:"server_pid"`
			}
			text, err := os.ReadFile(filepath.Join(dir, "state.json"))
			if err != nil || json.Unmarshal(text, &s) != nil { // it does not run yet
				return false
			}
			pid = s.PID
			return pid != 0 && pid != before && (s.Phase == "running") == ready && syscall.Kill(pid, syscall.SIGSTOP) == nil
		})
		return pid, up
	}
	first, up := again(false)
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString("the test: ready for connections\n"); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if u := <-up; u.err != nil {
		t.Fatalf("it does not start: %v\n%s", u.err, u.talk)
	}
	if second := h.pids(name).Server; second == first {
		t.Fatal("its server answered before it was stopped")
	}
	const says = "it had said that it is ready, and answered nothing for"
	h.until("the member says so", func() bool { return strings.Contains(h.ramaria("status", name), says) })
	if l := h.ramaria("cluster", "status", "c", "--json"); !strings.Contains(l, `"state": "whole"`) {
		t.Errorf("the cluster is not whole:\n%s", l)
	}
	h.ramaria("down", name)
	h.ramaria("cluster", "up", "c")
	if s := h.ramaria("status", name); strings.Contains(s, says) {
		t.Errorf("it says so of another start:\n%s", s)
	}
	if h.srv.Flavour == server.MySQL { // a member of Galera is in its cluster as soon as it is ready
		pid, up := again(true)
		if u := <-up; u.err == nil || !strings.Contains(u.talk, "start member "+name+": its server runs, and has answered nothing for ") {
			t.Errorf("a server that hangs: %v\n%s", u.err, u.talk)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		h.ramaria("cluster", "up", "c")
	}
	h.ramaria("cluster", "rm", "c", "--with-archive")
}
