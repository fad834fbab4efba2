package differential

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/home"
)

const (
	name = "main"
	// exit is how long a killed process may take to be gone.
	exit = 20 * time.Second
	// recovery is how long a recovery may take. What it replays took seconds.
	recovery = 2 * time.Minute
)

func TestMain(m *testing.M) { os.Exit(home.Main(m)) }

// instance is a durable instance in a home of its own.
type instance struct {
	*home.Home
	volume   string
	t        *testing.T
	software grammar.Software
	endpoint client.Endpoint
	// db is the application's account.
	db *sql.DB
	// unanswered are questions that the server did not answer, once at least: some it does not know, and some
	// MySQL does not answer while a table lacks its file.
	unanswered map[string]bool
	// atOnce is how many trials run side by side.
	atOnce int
}

// start makes a home, and an instance in it. The image is saved, so that others come soon.
func start(t *testing.T, want string, env ...string) *instance {
	t.Helper()
	volume := kind()
	in := &instance{Home: home.New(t, want, append(env, "RAMARIA_VOLUME="+volume)...), volume: volume, t: t, atOnce: atOnce, unanswered: map[string]bool{}}
	err := in.create()
	if err == nil {
		err = in.saveImage()
	}
	if err != nil {
		in.end()
		t.Fatal(err)
	}
	return in
}

// create makes the instance. Its base backup is made at once, and no other for an hour: what trials do must be
// replayed.
func (in *instance) create() error { return in.up("--durable", "--recover-within", "1h") }

func (in *instance) saveImage() error {
	list, err := in.Ramaria("image", "ls")
	if err != nil {
		return err
	}
	_, row, _ := strings.Cut(list, "\n")
	id, _, _ := strings.Cut(row, " ")
	_, err = in.Ramaria("image", "save", id)
	return err
}

// again makes the instance anew, in the place of one that does not recover, or has lived for long.
func (in *instance) again() {
	_, err := in.Ramaria("rm", name, "--with-archive")
	if err != nil {
		_, err = in.Ramaria("down", name, "--rm", "--with-archive")
	}
	if err == nil {
		err = in.create()
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

// kind is the kind of the volume: that of most users, where the machine has it.
func kind() string {
	if _, err := exec.LookPath("mkfs.xfs"); err == nil && os.Geteuid() == 0 {
		return "xfs"
	}
	return "shm"
}

// end removes the instance, and the volume, which is its alone.
func (in *instance) end() {
	if in.db != nil {
		in.db.Close()
	}
	_, err := in.Ramaria("down", "--all", "--rm")
	if there, _ := sys.Mounted(filepath.Join(in.Places.Mounts, in.volume)); there {
		_, e := in.Ramaria("volume", "rm", in.volume)
		err = errors.Join(err, e)
	}
	if err := errors.Join(err, in.Remove()); err != nil {
		in.t.Errorf("clear away: %v", err)
	}
}

// up starts the instance, or recovers it.
func (in *instance) up(args ...string) error {
	cmd := in.Command(append([]string{"up", name}, args...)...)
	timer := time.AfterFunc(recovery, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	out, err := cmd.CombinedOutput()
	if !timer.Stop() {
		err = errors.Join(err, fmt.Errorf("not ready after %s", recovery))
	}
	if err != nil {
		return fmt.Errorf("up: %w\n%s", err, out)
	}
	return in.open()
}

func (in *instance) open() error {
	socket, err := in.API(name)
	if err != nil {
		return err
	}
	c := client.New(socket)
	defer c.Close()
	status, err := c.Status(context.Background())
	if err != nil {
		return err
	}
	if in.db != nil {
		in.db.Close()
	}
	in.software, in.endpoint = grammar.NewSoftware(status.Server.Flavour, status.Server.Version), status.Endpoint
	in.db, err = home.Open(in.endpoint, in.endpoint.User, in.endpoint.Password, "", "binary")
	return err
}

// kill kills the server and, unless it is to end by itself, the supervisor, and waits for their ends.
func (in *instance) kill(both bool) error {
	text, err := in.Ramaria("status", name, "--json")
	if err != nil {
		return err
	}
	var pids struct {
		Supervisor int `json:"supervisor_pid"`
		Server     int `json:"server_pid"`
	}
	if err := json.Unmarshal([]byte(text), &pids); err != nil {
		return err
	}
	list := []int{pids.Server}
	if both {
		list = []int{pids.Supervisor, pids.Server} // the kernel may have been faster with the second
	}
	var handles []*sys.Process
	for _, pid := range []int{pids.Supervisor, pids.Server} {
		p, err := sys.OpenProcess(pid)
		if err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		handles = append(handles, p)
	}
	for _, pid := range list {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), exit)
	defer cancel()
	for _, p := range handles {
		if err := errors.Join(p.WaitExit(ctx), p.Close()); err != nil {
			return err
		}
	}
	return nil
}

// lose kills everything and takes the volume away, as a power cut does.
func (in *instance) lose() error {
	if err := in.kill(true); err != nil {
		return err
	}
	if in.volume == "shm" {
		return os.RemoveAll(in.Places.Shm)
	}
	dir := filepath.Join(in.Places.Mounts, in.volume)
	if there, err := sys.Mounted(dir); err != nil || !there {
		return errors.Join(err, fmt.Errorf("%s is not mounted", dir))
	}
	if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil { // #nosec G204 -- a place of ours
		return fmt.Errorf("umount %s: %w: %s", dir, err, out)
	}
	return nil
}
