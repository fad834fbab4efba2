package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

// envServer chooses the server that the tests run.
const envServer = servertest.EnvServer

// testVolume is the volume of scripts that choose no other: scripts/volume*.txtar, and
// those that say auto, do.
const testVolume = "shm"

// otherUser has no entry in passwd: ramaria must do without one.
const otherUser = 64321

// TestScripts runs every script as the user who runs the tests.
func TestScripts(t *testing.T) {
	t.Parallel()
	c := newScriptServers(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "script",
		Setup:               func(env *testscript.Env) error { return setUp(env, c) },
		Condition:           c.condition,
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// TestScriptsAsOrdinaryUser runs every script again without root's rights; a quick run, those of
// OrdinaryUser.
func TestScriptsAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: TestScripts was it")
	}
	srv := servertest.Find(t, wanted()) // while there is root to fetch it
	dir, err := os.MkdirTemp("", "ru-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o700), os.Chown(tmp, otherUser, otherUser),
		os.CopyFS(filepath.Join(dir, "script"), os.DirFS("script")), os.CopyFS(filepath.Join(dir, samplesDir), os.DirFS(samplesDir))); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "tests.test")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", program, self).CombinedOutput(); err != nil {
		t.Fatalf("copy the tests: %v: %s", err, out)
	}
	// A server of the user's own, as it is when the user has fetched it: in a user
	// namespace root's files seem to belong to nobody, and are not trusted.
	servers := filepath.Join(dir, "servers")
	if out, err := exec.Command("sh", "-c", `mkdir "$1" && cp -rL "$2" "$1/$3" && chown -R "$4:$4" "$1"`, "sh",
		servers, srv.Dir, srv.Name(), strconv.Itoa(otherUser)).CombinedOutput(); err != nil {
		t.Fatalf("copy the server: %v: %s", err, out)
	}
	r := rerun{
		program: self, dir: dir, parallel: userParallel, scripts: OrdinaryUser,
		env:        []string{"TMPDIR=" + tmp, "GOTMPDIR=" + tmp, "HOME=" + tmp, servertest.EnvDir + "=" + servers, servertest.EnvOffline + "=1"},
		credential: &syscall.Credential{Uid: otherUser, Gid: otherUser},
	}
	if !servertest.Quick() {
		r.scripts = nil
		scripts, err := filepath.Glob("script/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range scripts {
			r.scripts = append(r.scripts, strings.TrimSuffix(filepath.Base(path), ".txtar"))
		}
	}
	r.scripts = slices.DeleteFunc(slices.Clone(r.scripts), func(name string) bool { return !picked(t, t.Name()+"/"+name) })
	wait := r.begin(t)
	t.Parallel()
	ended, err := wait()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("SKIPPED, UNTESTED: cannot become uid %d here: %v", otherUser, err)
	}
	if err != nil {
		t.Errorf("the scripts fail as uid %d: %v", otherUser, err)
	}
	for _, name := range r.scripts {
		t.Run(name, func(t *testing.T) { ended["TestScripts/"+name].report(t) })
	}
}

// userParallel is how many scripts run at once as an ordinary user, beside others.
const userParallel = 2

// setUp gives a script a home of its own, with the shared server in its cache.
func setUp(env *testscript.Env, c *scriptServers) error {
	srv := c.srv
	home, err := os.MkdirTemp("", "rs-")
	if err != nil {
		return err
	}
	places, err := host.FindPlaces(home, os.Geteuid(), os.Getenv)
	if err != nil {
		return err
	}
	software, err := filepath.EvalSymlinks(srv.Dir)
	if err != nil {
		return err
	}
	b := &scriptHome{home: home, places: places, t: env.T().(reporter), running: map[string]*job{}, servers: c}
	env.Values[homeKey{}] = b
	env.Defer(b.close)
	if err := populate(places, home, srv); err != nil {
		return err
	}
	env.Setenv("PATH", binDir+":"+env.Getenv("PATH"))
	env.Setenv("RAMARIA_HOME", home)
	env.Setenv("RAMARIA_NO_FETCH", "1")
	env.Setenv("RAMARIA_VOLUME", testVolume)
	env.Setenv("RAMARIA_SERVER", series(srv))
	env.Setenv("HOME", home)
	env.Setenv("SHM", places.Shm)
	env.Setenv("DISK", places.Disk)
	env.Setenv("MOUNTS", places.Mounts)
	env.Setenv("FLAVOUR", string(srv.Flavour))
	env.Setenv("SERVER", srv.Name())
	env.Setenv("SERVER_DIR", software)
	env.Setenv("SERIES", srv.Version.Series())
	env.Setenv("CLIENT", srv.Client.Shell())
	env.Setenv("DUMPER", srv.Dumper.Shell())
	samples, err := filepath.Abs(samplesDir)
	if err != nil {
		return err
	}
	env.Setenv("SAMPLES", samples)
	env.Setenv("UID", strconv.Itoa(os.Geteuid()))
	for name, other := range c.others {
		env.Setenv(name, series(other))
	}
	b.env = env
	return nil
}

// condition answers the [conditions] of the scripts, of which [other], [older] and
// [newer] say that there is a server to `have`.
func (c *scriptServers) condition(name string) (bool, error) {
	switch name {
	case string(server.MariaDB), string(server.MySQL):
		return c.srv.Flavour == server.Flavour(name), nil
	case "other", "older", "newer":
		return c.others[strings.ToUpper(name)] != nil, nil
	}
	return condition(name)
}

// condition answers those that are about the machine.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "landlock":
		return server.Unconfinable() == "", nil
	case "mounts":
		return canMount(), nil
	case "swap":
		return canSwap(), nil
	case "memgroups":
		return canLimitMemory(), nil
	case "iogroups":
		return canHoldWrites(), nil
	case "wheatfs":
		return wheatfs.Check() == nil, nil
	case "xfs", "zram":
		places, err := host.FindPlaces(os.TempDir(), os.Geteuid(), os.Getenv)
		return err == nil && (&volume.Opener{Places: places}).Fit(context.Background(), volume.Kind(name)) == nil, err
	}
	return false, fmt.Errorf("unknown condition %s", name)
}
