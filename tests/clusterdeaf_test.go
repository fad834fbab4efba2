package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestClusterDeaf: the server of a member says that it is ready, and answers nothing. It is ended and started once more, and the
// member says so. The stand-in for such a server is one that is stopped while it starts, whose log gets the words from here.
func TestClusterDeaf(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	const name = "c-2"
	h.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", h.daemon())
	before := h.pids(name).Server
	h.kill(name, func(p pids) int { return p.Server })
	type ended struct {
		talk string
		err  error
	}
	up := make(chan ended, 1)
	go func() {
		_, talk, err := h.try("cluster", "up", "c")
		up <- ended{talk, err}
	}()
	var first int
	h.until("its server starts", func() bool {
		var p pids
		out, _, _ := h.try("status", name, "--json") // it does not run yet
		first = 0
		if json.Unmarshal([]byte(out), &p) == nil {
			first = p.Server
		}
		return first != 0 && first != before && syscall.Kill(first, syscall.SIGSTOP) == nil
	})
	log, err := os.OpenFile(filepath.Join(h.instanceDir(testVolume, name), "server.log"), os.O_WRONLY|os.O_APPEND, 0)
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
	h.ramaria("cluster", "rm", "c", "--with-archive")
}
