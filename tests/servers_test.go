package tests

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// scriptServers are the servers that scripts run.
type scriptServers struct {
	// srv is the one that ramaria takes.
	srv *server.Server
	// others are those that a script may have beside it: OTHER is of the other flavour,
	// OLDER and NEWER are other versions of the same.
	others map[string]*server.Server
}

func newScriptServers(t *testing.T) *scriptServers {
	t.Helper()
	c := &scriptServers{srv: servertest.Find(t, wanted()), others: map[string]*server.Server{}}
	if os.Geteuid() != 0 {
		return c // TestScriptsAsOrdinaryUser has but one copied
	}
	first, last := Servers[0], Servers[len(Servers)-1]
	for name, want := range map[string]string{"OLDER": first, "NEWER": "mariadb:11.8", "OTHER": last} {
		if c.srv.Flavour == server.MySQL {
			want = map[string]string{"OTHER": first}[name]
		}
		if want == "" || want == series(c.srv) {
			continue
		}
		other, err := servertest.Look(t, want)
		if err != nil {
			t.Logf("no %s for scripts: %v", want, err)
			continue
		}
		c.others[name] = other
	}
	return c
}

// wanted is the server that the tests run.
func wanted() string { return cmp.Or(os.Getenv(envServer), Servers[0]) }

// chosen reports whether that is another than the first, or chosen by hand.
func chosen() bool { return os.Getenv(envServer) != "" }

// fewer is how often to do something: n times, or less where it is not the first server, or the
// run is quick.
func fewer(n, less int) int {
	if chosen() || servertest.Quick() {
		return less
	}
	return n
}

// series is how people name the series of a server: mariadb:10.11.
func series(s *server.Server) string { return string(s.Flavour) + ":" + s.Version.Series() }

// cmdHave puts another server into the home:
//
//	[other] have OTHER
func cmdHave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: have OTHER|OLDER|NEWER")
	}
	b := ts.Value(homeKey{}).(*scriptHome)
	s := b.servers.others[args[0]]
	if s == nil {
		ts.Fatalf("no server is %s here: ask [%s] first", args[0], strings.ToLower(args[0]))
	}
	ts.Check(install(b.places, s))
	if servertest.Quick() {
		ts.Check(saved(b.places, s))
	}
	ts.Setenv(args[0]+"_NAME", s.Name())
}

// cmdOwnImages takes away the image that populate put there: for scripts that want to see
// the empty server made, or that count images.
func cmdOwnImages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: own-images")
	}
	ts.Check(os.RemoveAll(coldDir(ts.Value(homeKey{}).(*scriptHome).places)))
}

func coldDir(p host.Places) string { return filepath.Join(p.Cache, "images") }

// install puts a server that all tests share into the cache of a home.
func install(p host.Places, srv *server.Server) error {
	software, err := filepath.EvalSymlinks(srv.Dir)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(p.Servers(), 0o755), os.Symlink(software, filepath.Join(p.Servers(), srv.Name())))
}

// populate puts the server into a home. One that was chosen, which takes part in the
// matrix, comes with its empty image saved, since that takes MySQL seconds to make, and so
// does every one in a quick run; else every home on the default server makes its own.
func populate(p host.Places, home string, srv *server.Server) error {
	// The accounts that root's servers run under pass through the home.
	if err := errors.Join(os.Chmod(home, 0o755), install(p, srv)); err != nil || !chosen() && !servertest.Quick() {
		return err
	}
	return saved(p, srv)
}

// saved puts the empty image of a server, saved, into a home.
func saved(p host.Places, srv *server.Server) error {
	image, err := emptyOf(srv).of(srv)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(coldDir(p), 0o700), os.WriteFile(filepath.Join(coldDir(p), filepath.Base(image)), b, 0o600))
}

// emptyImage is the empty image of the server, saved by ramaria itself.
type emptyImage struct {
	once sync.Once
	home string // "" until it is made
	path string
	err  error
}

// empties are those of the servers that were asked for, by name.
var empties struct {
	lock sync.Mutex
	of   map[string]*emptyImage
}

func emptyOf(srv *server.Server) *emptyImage {
	empties.lock.Lock()
	defer empties.lock.Unlock()
	if empties.of == nil {
		empties.of = map[string]*emptyImage{}
	}
	if empties.of[srv.Name()] == nil {
		empties.of[srv.Name()] = &emptyImage{}
	}
	return empties.of[srv.Name()]
}

// of returns the path of the file, which is made at the first call.
func (e *emptyImage) of(srv *server.Server) (string, error) {
	e.once.Do(func() { e.err = e.make(srv) })
	return e.path, e.err
}

func (e *emptyImage) make(srv *server.Server) (err error) {
	if e.home, err = os.MkdirTemp("", "re-"); err != nil {
		return err
	}
	places, err := host.FindPlaces(e.home, os.Geteuid(), os.Getenv)
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(e.home, 0o755), install(places, srv)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(places.Shm)) }()
	run := func(args ...string) string {
		if err != nil {
			return ""
		}
		cmd := exec.Command(filepath.Join(binDir, "ramaria"), args...)
		cmd.Env = append(os.Environ(), "RAMARIA_HOME="+e.home, "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME=shm", "RAMARIA_SERVER="+series(srv))
		var talk bytes.Buffer
		cmd.Stderr = &talk
		out, runErr := cmd.Output()
		if runErr != nil {
			err = fmt.Errorf("ramaria %s: %w: %s", strings.Join(args, " "), runErr, talk.String())
		}
		return strings.TrimSpace(string(out))
	}
	e.path = run("image", "save", run("image", "build"))
	return err
}

// removeEmpties removes them at the end of all tests.
func removeEmpties() {
	for _, e := range empties.of {
		if e.home != "" {
			_ = os.RemoveAll(e.home) // what stays is found by leftovers
		}
	}
}
