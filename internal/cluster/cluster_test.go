package cluster

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

func TestPosition(t *testing.T) {
	const history = "6e377582-eaa7-11f1-a1d6-0fa4a722db68"
	for _, c := range []struct {
		log  string
		want Position
		bad  bool
	}{
		{log: "2026-11-27 0 [Note] WSREP: Recovered position: " + history + ":14,0-1-9\n", want: Position{history, "14"}},
		{log: "WSREP: Recovered position: 00000000-0000-0000-0000-000000000000:-1\n", want: Position{noHistory, "-1"}},
		{log: "WSREP: Recovered position: " + history + ":1\nWSREP: Recovered position: " + history + ":2\n", want: Position{history, "2"}},
		{log: "[ERROR] Aborting", bad: true},
	} {
		got, err := ParseRecovered(c.log)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("ParseRecovered(%q) = %v, %v", c.log, got, err)
		}
	}
	dir := t.TempDir()
	if ReadState(dir).Known() {
		t.Error("a directory without a state has a position")
	}
	want := Position{history, "14"}
	if err := WriteState(dir, want, server.Account{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "grastate.dat"))
	if got := ReadState(dir); got != want || !got.Known() || err != nil || !strings.Contains(string(text), "safe_to_bootstrap: 0\n") {
		t.Errorf("read back: %v, %v\n%s", got, err, text)
	}
	if (Position{history, "-1"}).Known() || (Position{noHistory, "-1"}).Known() {
		t.Error("a member that was killed has a position")
	}
}

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "clusters"), Programs: t.TempDir(), UID: os.Geteuid()}
	if _, err := s.Get("c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	if _, err := s.Get("../c"); !errors.Is(err, instance.ErrName) {
		t.Errorf("a path: %v", err)
	}
	c := &Cluster{Name: "c", Flavour: server.MySQL, Nodes: []Node{{Name: "c-1", Host: "127.0.0.1", Port: 1}, {Name: "c-2", Host: "127.0.0.1", Port: 2}, {Name: "c-3", Host: "127.0.0.1", Port: 3}}}
	if err := s.Put(c); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(s.path("c"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v, %v", fi.Mode(), err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Quorum() != 2 {
		t.Errorf("list: %v, %v", list, err)
	}
	m, err := list[0].Member("c-2")
	if err != nil || m.Number != 2 || strings.Join(m.Peers, " ") != "127.0.0.1:1 127.0.0.1:2 127.0.0.1:3" {
		t.Errorf("member: %+v, %v", m, err)
	}
	if _, err := list[0].Member("c-4"); err == nil {
		t.Error("a member that is none")
	}
	if err := s.Delete("c"); err != nil {
		t.Fatal(err)
	}
	if left, err := s.List(); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestNewGroup(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := NewGroup(), NewGroup(); a == b || !uuid.MatchString(a) {
		t.Error(a, b)
	}
}

// TestScript: a joiner waits for its donor, gets its position where that has the rest, and fails where it has not.
func TestScript(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED, UNTESTED: ", err)
	}
	s := Store{Dir: t.TempDir(), Programs: t.TempDir(), UID: os.Geteuid()}
	if err := os.Mkdir(s.Meet("c"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Delete("c"); err != nil {
			t.Error(err)
		}
	})
	path, err := s.WriteScript("c")
	if err != nil {
		t.Fatal(err)
	}
	const address, gtid = "127.0.0.1:4444", "6e377582-eaa7-11f1-a1d6-0fa4a722db68:14"
	for _, has := range []bool{true, false} {
		joiner := exec.Command(path, "--role", "joiner", "--address", address, "--datadir", "/x y", "--parent", "1", "--progress", "0", "--mysqld-args", "--role=donor")
		var out bytes.Buffer
		joiner.Stdout = &out
		if err := joiner.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // it removes what an earlier one left
		args := []string{"--role", "donor", "--address", address + "/ramaria", "--gtid", gtid, "--gtid-domain-id", "0"}
		if has {
			args = append(args, "--bypass")
		}
		said, derr := exec.Command(path, args...).Output()
		jerr := joiner.Wait()
		want := "ready " + address + "/ramaria\n"
		if has {
			want += gtid + " 0\n"
		}
		if (derr == nil) != has || (jerr == nil) != has || out.String() != want || has && string(said) != "done "+gtid+"\n" {
			t.Errorf("has %v: donor %q, %v; joiner %q, %v", has, said, derr, out.String(), jerr)
		}
	}
	dead := exec.Command(path, "--role", "joiner", "--address", address, "--parent", "4194305")
	if err := dead.Run(); err == nil {
		t.Error("a joiner waits whose server is gone")
	}
}
