package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Running is a server that one test has for itself, without any database of the
// test's. It listens on a socket only.
type Running struct {
	*server.Server
	// Endpoint is an account with every right.
	Endpoint dbconn.Endpoint
	// Mysql is the command of the server's own client, connected by that account;
	// it reads no other option file.
	Mysql []string
	// dumper is the same of the program that writes dumps; empty if the server came
	// without one.
	dumper []string

	// Account is the one that the server runs under, and Config what its last start was given.
	Account server.Account
	Config  server.Config

	dir  string
	set  map[string]string
	proc *server.Process
}

// Start makes an empty data directory and starts s on it, as root under the account
// of servers. It is killed and removed when the test ends; when that failed, the
// files are kept and their path is said.
func Start(t testing.TB, s *server.Server) *Running {
	t.Helper()
	return start(t, s, nil, func(r *Running) error {
		if err := r.configure(server.Bootstrap); err != nil {
			return err
		}
		return r.bootstrap(t.Context())
	})
}

// StartOn is Start on a copy of a data directory, with settings.
func StartOn(t testing.TB, s *server.Server, dataDir string, set map[string]string) *Running {
	t.Helper()
	return start(t, s, set, func(r *Running) error {
		if err := errors.Join(os.Remove(r.DataDir()), sys.CopyTree(t.Context(), dataDir, r.DataDir(), nil)); err != nil {
			return err
		}
		return r.Account.Own(r.DataDir(), 0o700)
	})
}

func start(t testing.TB, s *server.Server, set map[string]string, lay func(*Running) error) *Running {
	t.Helper()
	if len(s.Client.Argv) == 0 {
		t.Fatalf("%s in %s has no client", s.Name(), s.Dir)
	}
	dir, err := os.MkdirTemp("", "rv-") // short, for the socket, and open to the account
	if err != nil {
		t.Fatal(err)
	}
	r := &Running{Server: s, dir: dir, set: set}
	t.Cleanup(func() { r.clear(t) })
	if os.Geteuid() == 0 {
		r.Account.UID, r.Account.GID = host.ReservedID, host.ReservedID
	}
	r.Endpoint = dbconn.Endpoint{
		Socket: server.SocketPath(r.path("run")), Login: dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()},
	}
	if err := errors.Join(os.Chmod(dir, 0o711), server.MakeDirs(r.Account, r.path("data"), r.path("run"), r.path("tmp"))); err != nil {
		t.Fatal(err)
	}
	if err := lay(r); err != nil {
		t.Fatal(err)
	}
	if err := r.configure(server.Run); err != nil {
		t.Fatal(err)
	}
	if err := r.start(t); err != nil {
		t.Fatal(err)
	}
	client := r.path("client.cnf")
	if err := server.WritePrivate(client, []byte(r.Endpoint.ClientConfig()), server.Account{}); err != nil {
		t.Fatal(err)
	}
	r.Mysql = append(append(r.Mysql, s.Client.Argv...), "--defaults-file="+client)
	if len(s.Dumper.Argv) > 0 {
		r.dumper = append(append(r.dumper, s.Dumper.Argv...), "--defaults-file="+client)
	}
	return r
}

// DataDir is the server's data directory.
func (r *Running) DataDir() string { return r.path("data") }

// Load runs a dump.
func (r *Running) Load(t testing.TB, dump string) {
	t.Helper()
	run(t, r.Client, r.Mysql, dump, "--binary-mode", "--default-character-set=utf8mb4")
}

// Dump returns all that a database holds, as a dump without its name.
func (r *Running) Dump(t testing.TB, database string) string {
	t.Helper()
	return run(t, r.Dumper, r.dumper, "", "--routines", "--triggers", "--events", "--hex-blob", "--order-by-primary", "--skip-dump-date", "--skip-lock-tables",
		"--default-character-set=utf8mb4", "--skip-extended-insert", "--compact", "--no-tablespaces", database)
}

// run runs a client program with text as its input, and returns what it prints.
func run(t testing.TB, p server.Program, argv []string, text string, args ...string) string {
	t.Helper()
	argv = append(slices.Clone(argv), args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) // #nosec G204 -- a server's own
	cmd.Env = append([]string{"LC_ALL=C"}, p.Env...)
	cmd.Stdin = strings.NewReader(text)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, errs.String())
	}
	return string(out)
}

func (r *Running) path(name string) string { return filepath.Join(r.dir, name) }

// configure writes the files of one start.
func (r *Running) configure(stage server.Stage) error {
	r.Config = server.Config{Stage: stage, Volume: "disk", DataDir: r.path("data"), RunDir: r.path("run"), TmpDir: r.path("tmp"), Set: r.set}
	if stage == server.Run {
		r.Config.InitFile = r.path("init.sql")
		app := dbconn.Login{User: "app", Password: dbconn.NewPassword()}
		if err := server.WritePrivate(r.Config.InitFile, []byte(r.Dialect().InitSQL(r.Endpoint.Login, app, "", false)), r.Account); err != nil {
			return err
		}
		if err := r.WriteKeys(r.path("keys"), r.Config.RunDir, r.Account); err != nil {
			return err
		}
	}
	text, err := r.Render(r.Config)
	if err != nil {
		return err
	}
	return server.WritePrivate(r.path("my.cnf"), []byte(text), r.Account)
}

// start starts the server and waits for its first answer.
func (r *Running) start(t testing.TB) error {
	log, err := os.OpenFile(r.path("server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if r.proc, err = r.Start(r.path("my.cnf"), r.Config, r.Account, r.dir, log, server.Unsynced); err != nil {
		return err
	}
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	return r.proc.Ready(t.Context(), db, r.Endpoint.Socket, r.path("server.log"))
}

// Kill ends the server as kill -9 does.
func (r *Running) Kill() { r.proc.Kill() }

// Stop shuts the server down cleanly.
func (r *Running) Stop(t testing.TB) {
	t.Helper()
	if err := r.proc.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a stopped or killed server again on its data directory.
func (r *Running) Restart(t testing.TB) {
	t.Helper()
	if err := r.configure(server.Run); err != nil {
		t.Fatal(err)
	}
	if err := r.start(t); err != nil {
		log, _ := os.ReadFile(r.path("server.log")) // what there is of it
		t.Fatalf("%v\n%s", err, log)
	}
}

// RestartAs ends the server and starts it on its data directory as at another stage, over
// settings, and without a binary log where noLog says so.
func (r *Running) RestartAs(t testing.TB, stage server.Stage, noLog bool, set map[string]string) {
	t.Helper()
	if err := r.TryRestartAs(t, stage, noLog, set); err != nil {
		t.Fatal(err)
	}
}

// TryRestartAs is RestartAs of a server that may not start. The error has its log.
func (r *Running) TryRestartAs(t testing.TB, stage server.Stage, noLog bool, set map[string]string) error {
	t.Helper()
	r.Kill()
	err := r.configure(server.Run)
	if err == nil {
		r.Config.Stage, r.Config.NoLog, r.Config.Set = stage, noLog, set
		var text string
		if text, err = r.Render(r.Config); err == nil {
			err = server.WritePrivate(r.path("my.cnf"), []byte(text), r.Account)
		}
	}
	if err == nil {
		err = r.start(t)
	}
	if err != nil {
		log, _ := os.ReadFile(r.path("server.log")) // what there is of it
		return fmt.Errorf("%w\n%s", err, log)
	}
	return nil
}

// Variables returns the global variables.
func (r *Running) Variables(t testing.TB) map[string]string {
	t.Helper()
	vars := map[string]string{}
	for line := range strings.Lines(run(t, r.Client, r.Mysql, "SHOW GLOBAL VARIABLES", "--batch", "--skip-column-names")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		vars[strings.ToLower(name)] = value
	}
	return vars
}

func (r *Running) clear(t testing.TB) {
	if r.proc != nil {
		r.proc.Kill()
	}
	if t.Failed() {
		t.Logf("the server's files are kept in %s", r.dir)
		return
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Error(err)
	}
}
