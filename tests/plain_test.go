package tests

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
)

// plainServer is a server without Ramaria: stock settings but for paths and
// character_set_server=utf8mb4, which packaged servers have, on a data directory
// that only the server's own bootstrap SQL went into; dumps are loaded by nothing
// but the client. Its account has the name of the one that Ramaria loads by, since
// the server fills in the loading account where a dump leaves the definer out.
type plainServer struct {
	t       *testing.T
	srv     *server.Server
	dir     string
	account server.Account
	login   dbconn.Login
	last    server.Config
	// also are more lines of its option file.
	also []string
	proc *server.Process
	db   *sql.DB
}

// newPlain makes a plain server and starts it.
func newPlain(t *testing.T, srv *server.Server, also ...string) *plainServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "rp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := &plainServer{t: t, srv: srv, dir: dir, also: also, login: dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()}}
	if os.Geteuid() == 0 {
		p.account.UID, p.account.GID = host.ReservedID, host.ReservedID
	}
	if err := server.MakeDirs(p.account, p.dataDir(), filepath.Join(dir, "run"), filepath.Join(dir, "tmp")); err != nil {
		t.Fatal(err)
	}
	p.configure("")
	if err := srv.Bootstrap(t.Context(), p.config(), p.last, dir, p.log(), p.account); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.start()
	return p
}

// kept are those of its lines that a bootstrap takes.
func (p *plainServer) kept(initSQL string) string {
	if initSQL == "" {
		return ""
	}
	return strings.Join(p.also, "\n") + "\n"
}

func (p *plainServer) dataDir() string { return filepath.Join(p.dir, "data") }
func (p *plainServer) config() string  { return filepath.Join(p.dir, "run", "my.cnf") }
func (p *plainServer) log() string     { return filepath.Join(p.dir, "server.log") }
func (p *plainServer) socket() string  { return filepath.Join(p.dir, "run", "server.sock") }

// configure writes the option file.
func (p *plainServer) configure(initSQL string) {
	p.t.Helper()
	p.last = server.Config{Stage: server.Stock, DataDir: p.dataDir(), RunDir: filepath.Join(p.dir, "run"), TmpDir: filepath.Join(p.dir, "tmp"), Unconfined: len(p.also) > 0}
	if initSQL != "" {
		p.last.InitFile = filepath.Join(p.dir, "run", "init.sql")
		if err := server.WritePrivate(p.last.InitFile, []byte(initSQL), p.account); err != nil {
			p.t.Fatal(err)
		}
	}
	text, err := p.srv.Render(p.last)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := server.WritePrivate(p.config(), []byte(text+"\ncharacter_set_server = utf8mb4\n"+p.kept(initSQL)), p.account); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the server and waits for its first answer.
func (p *plainServer) start() {
	p.t.Helper()
	p.configure("CREATE USER IF NOT EXISTS " + p.login.User + "@localhost;\n" +
		"ALTER USER " + p.login.User + "@localhost IDENTIFIED BY '" + p.login.Password + "';\n" +
		"GRANT ALL ON *.* TO " + p.login.User + "@localhost WITH GRANT OPTION;\n")
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	if p.proc, err = p.srv.Start(p.config(), p.last, p.account, p.dir, log, server.Synced); err != nil {
		p.t.Fatal(err)
	}
	if p.db, err = dbconn.Open(p.socket(), p.login, ""); err != nil {
		p.t.Fatal(err)
	}
	if err := p.proc.Ready(p.t.Context(), p.db, p.socket(), p.log()); err != nil {
		p.t.Fatal(err)
	}
}

// stop shuts the server down cleanly.
func (p *plainServer) stop() {
	p.t.Helper()
	if err := errors.Join(p.db.Close(), p.proc.Stop(context.WithoutCancel(p.t.Context()))); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the server, if it runs.
func (p *plainServer) kill() {
	if p.proc != nil {
		p.proc.Kill()
		p.db.Close()
	}
}

// during makes a subtest the one that fails until it ends.
func (p *plainServer) during(t *testing.T) {
	outer := p.t
	p.t = t
	t.Cleanup(func() { p.t = outer })
}

// load runs the client over dumps, one after the other; those after the first find
// themselves in the database.
func (p *plainServer) load(database string, files ...string) {
	p.t.Helper()
	p.loadInto(dbconn.Endpoint{Socket: p.socket(), Login: p.login}, database, files...)
}

// loadInto is load into another server.
func (p *plainServer) loadInto(e dbconn.Endpoint, database string, files ...string) {
	p.t.Helper()
	config := filepath.Join(p.dir, "client.cnf")
	if err := server.WritePrivate(config, []byte(e.ClientConfig()), server.Account{}); err != nil {
		p.t.Fatal(err)
	}
	for i, file := range files {
		in, err := os.Open(file)
		if err != nil {
			p.t.Fatal(err)
		}
		argv := append(append([]string{}, p.srv.Client.Argv...), "--defaults-file="+config, "--default-character-set=utf8mb4")
		if i > 0 {
			argv = append(argv, database)
		}
		cmd := exec.CommandContext(p.t.Context(), argv[0], argv[1:]...)
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		in.Close()
		if err != nil {
			p.t.Fatalf("plain load of %s: %v: %s", file, err, out)
		}
	}
}

// exe runs a statement that must succeed.
func exe(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", strings.SplitN(statement, "\n", 2)[0], err)
	}
}
