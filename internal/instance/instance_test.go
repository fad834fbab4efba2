package instance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func TestNameOfDump(t *testing.T) {
	if err := CheckName("../shop.sql.gz"); !errors.Is(err, ErrName) || !strings.Contains(err.Error(), "\nhint: ramaria up --from ../shop.sql.gz") {
		t.Errorf("got %v, want ErrName with --from in its hint", err)
	}
}

func TestCheckName(t *testing.T) {
	for _, ok := range []string{"a", "main", "my-shop_2", "0", "run-0a1b2c3d", strings.Repeat("x", MaxName)} {
		if err := CheckName(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "-a", "_a", ".", "..", "a/b", "A", "a b", "ä", "a.json", "a\n", strings.Repeat("x", MaxName+1)} {
		if err := CheckName(bad); !errors.Is(err, ErrName) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%q: got %v, want ErrName with a hint", bad, err)
		}
	}
}

// newStore returns a store with a volume of its own on disk.
func newStore(t *testing.T) *Store {
	t.Helper()
	dir := t.TempDir()
	v, err := (&volume.Opener{Places: host.Places{Disk: filepath.Join(dir, "v")}}).Open(t.Context(), volume.Spec{Kind: volume.Disk})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Registry: Registry{Dir: filepath.Join(dir, "state")}, Volume: v, UID: os.Geteuid()}
	if err := os.MkdirAll(s.Registry.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// put makes an instance out of files only.
func (s *Store) put(t *testing.T, name string, passing bool) *Instance {
	t.Helper()
	dir := s.dir(name)
	i := &Instance{
		Record: Record{
			Format: Format, Name: name, Spec: Spec{User: "app"}, Volume: "disk", Dir: dir, RunDir: filepath.Join(dir, "run"),
			Passing: passing, Created: time.Now().Round(time.Second),
		},
		Made: Made{Image: "0123456789abcdef", Server: &server.Server{Flavour: server.MariaDB}, Endpoint: dbconn.Endpoint{Port: 33061}},
	}
	if err := errors.Join(os.MkdirAll(i.DataDir(), 0o700), os.MkdirAll(i.RunDir, 0o700), i.Save(), s.Registry.Put(&i.Record)); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestRegistry(t *testing.T) {
	s := newStore(t)
	if list, err := s.Registry.List(); err != nil || len(list) != 0 {
		t.Errorf("empty: %v, %v", list, err)
	}
	b, a := s.put(t, "b", false), s.put(t, "a", true)
	list, err := s.Registry.List()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*Record{&a.Record, &b.Record}, list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err := s.Registry.Open("b")
	if err != nil || !cmp.Equal(got, b) {
		t.Errorf("%v:\n%s", err, cmp.Diff(b, got))
	}
	if err := errors.Join(s.Registry.Delete("b"), s.Registry.Delete("b")); err != nil {
		t.Errorf("delete twice: %v", err)
	}
	if _, err := s.Registry.Get("b"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("got %v, want ErrNotFound with a hint", err)
	}
	if _, err := s.Registry.Get("../state/a"); !errors.Is(err, ErrName) {
		t.Errorf("a path: got %v, want ErrName", err)
	}
	a.Format = Format + 1
	if err := s.Registry.Put(&a.Record); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Registry.Get("a"); err == nil || !strings.Contains(err.Error(), "\nhint: use the ramaria that made it") {
		t.Errorf("a later format: got %v", err)
	}
}

// TestSecretsStayInVolume: records outlive a reboot and hold no password.
func TestSecretsStayInVolume(t *testing.T) {
	s := newStore(t)
	i := s.put(t, "a", false)
	i.Endpoint.Password, i.Supervisor.Password = "s3cret", "s3cret"
	if err := errors.Join(i.Save(), s.Registry.Put(&i.Record)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(s.Registry.Dir, "a.json"))
	if err != nil || strings.Contains(string(b), "s3cret") {
		t.Errorf("%v: %s", err, b)
	}
	made := filepath.Join(i.Dir, "instance.json")
	b, err = os.ReadFile(made)
	if err != nil || !strings.Contains(string(b), "s3cret") {
		t.Errorf("%v: %s", err, b)
	}
	if fi, err := os.Stat(made); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func TestState(t *testing.T) {
	s := newStore(t)
	i := s.put(t, "a", false)
	phase := func() State {
		t.Helper()
		st, err := i.State()
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if st := phase(); st.Phase != Stopped {
		t.Errorf("never started: %s", st.Phase)
	}
	lock, err := sys.TryLock(i.LockPath(), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Phase{Starting, Running, Stopping} {
		if err := i.SaveState(State{Phase: p}); err != nil {
			t.Fatal(err)
		}
		if st := phase(); st.Phase != p || !st.Phase.Alive() {
			t.Errorf("with a supervisor: %s, want %s", st.Phase, p)
		}
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if st := phase(); st.Phase != Crashed || st.Phase.Alive() || st.Reason == "" {
		t.Errorf("without one: %+v, want it crashed with a reason", st)
	}
	if err := i.SaveState(State{Phase: Stopped}); err != nil {
		t.Fatal(err)
	}
	if st := phase(); st.Phase != Stopped {
		t.Errorf("stopped: %s", st.Phase)
	}
	if err := os.RemoveAll(i.Dir); err != nil {
		t.Fatal(err)
	}
	if st := phase(); st.Phase != Gone || st.Reason == "" {
		t.Errorf("without its directory: %+v, want it gone with a reason", st)
	}
	if _, err := s.Registry.Open("a"); err == nil || !strings.Contains(err.Error(), "\nhint: ramaria up a makes it again") {
		t.Errorf("open: got %v", err)
	}
	i.Spec.Durable = DurableCommit
	if err := s.Registry.Put(&i.Record); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Registry.Open("a"); err == nil || !strings.Contains(err.Error(), "\nhint: ramaria up a recovers it from its archive") {
		t.Errorf("open a durable one: got %v", err)
	}
}

// TestBrokenRecords: a record that cannot be read does not disturb other instances.
func TestBrokenRecords(t *testing.T) {
	s := newStore(t)
	good := s.put(t, "good", false)
	later := s.put(t, "later", false)
	later.Format = Format + 1
	if err := errors.Join(s.Registry.Put(&later.Record),
		os.WriteFile(s.Registry.path("empty"), nil, 0o600),
		os.WriteFile(s.Registry.path("cut"), []byte(`{"format":`), 0o600),
		os.WriteFile(s.Registry.path("main copy"), []byte(`{}`), 0o600),
		os.MkdirAll(s.dir("empty"), 0o700)); err != nil {
		t.Fatal(err)
	}
	list, err := s.Registry.List()
	if diff := cmp.Diff([]*Record{&good.Record}, list); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	broken, err := s.Registry.Broken()
	if diff := cmp.Diff([]string{"cut", "empty", "later", "main copy"}, broken); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := s.Registry.Get("empty"); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("got %v, want it damaged with a hint", err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.dir("empty")); err != nil {
		t.Errorf("the sweep took the data of a broken record: %v", err)
	}
}

// TestStateByLock: where state.json says nothing, the lock does.
func TestStateByLock(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string // "-" for none
		held    bool
		want    State
	}{
		{"missing, held", "-", true, State{Phase: Starting, SupervisorPID: os.Getpid()}},
		{"missing", "-", false, State{Phase: Stopped}},
		{"empty, held", "", true, State{Phase: Running, Reason: damagedReason, SupervisorPID: os.Getpid()}},
		{"empty", "", false, State{Phase: Crashed, Reason: damagedReason}},
		{"half, held", `{"phase":"stopp`, true, State{Phase: Running, Reason: damagedReason, SupervisorPID: os.Getpid()}},
		{"half", `{"phase":"stopp`, false, State{Phase: Crashed, Reason: damagedReason}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			i := s.put(t, "a", false)
			if c.held {
				hold(t, i.LockPath())
				if err := i.SignLock(); err != nil {
					t.Fatal(err)
				}
			}
			if c.content != "-" {
				if err := os.WriteFile(i.statePath(), []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.want.Since = i.Created
			if got, err := i.State(); err != nil || !cmp.Equal(got, c.want) {
				t.Errorf("%v: %s", err, cmp.Diff(c.want, got))
			}
			if err := s.Reap(t.Context(), &i.Record); err != nil {
				t.Errorf("reap: %v", err)
			}
			if got, err := i.State(); err != nil || got.Phase != c.want.Phase {
				t.Errorf("after reaping: %+v, %v", got, err)
			}
		})
	}
}

// TestStateOverwrite is how the state is written where there is no room for a new
// file: the same state is read, whether it is longer or shorter than the old one.
func TestStateOverwrite(t *testing.T) {
	i := newStore(t).put(t, "a", false)
	long := State{Phase: Stopped, Reason: strings.Repeat("reason ", 100), Since: time.Now().UTC()}
	short := State{Phase: Stopped, Since: time.Now().UTC(), Warnings: []string{"full"}}
	if err := i.SaveState(short); err != nil {
		t.Fatal(err)
	}
	for _, want := range []State{long, short, long} {
		if err := i.overwriteState(want); err != nil {
			t.Fatal(err)
		}
		if got, err := i.State(); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%v: %s", err, cmp.Diff(want, got))
		}
	}
	long.Reason = strings.Repeat("x", statePage)
	if err := i.overwriteState(long); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than the block holds: got %v, want ENOSPC", err)
	}
	if got, err := i.State(); err != nil || got.Phase != Stopped {
		t.Errorf("the old state is spoilt: %+v, %v", got, err)
	}
}
