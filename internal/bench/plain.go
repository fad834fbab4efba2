package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// plainServer is a server that is set up by hand, as without ramaria.
type plainServer struct {
	lab *Lab
	dir string
	// volume is the kind that the settings are for, "" for shm.
	volume string
	// noLog starts it with ramaria's settings, but without a binary log.
	noLog bool
	login server.Login
	proc  *server.Process
}

func (s *plainServer) data() string   { return filepath.Join(s.dir, "data") }
func (s *plainServer) config() string { return filepath.Join(s.dir, "my.cnf") }
func (s *plainServer) log() string    { return filepath.Join(s.dir, "server.log") }
func (s *plainServer) socket() string { return server.SocketPath(s.dir) }

// shm is the lab's volume in shared memory.
func (l *Lab) shm() (string, error) {
	p, err := l.places()
	return p.Shm, err
}

// prepare makes the server's directory and option file.
func (s *plainServer) prepare() error {
	return s.files(server.Run, "")
}

func (s *plainServer) files(stage server.Stage, initSQL string) error {
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return err
	}
	if err := s.lab.Account.Own(s.dir, 0o711); err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, "tmp")
	if err := server.MakeDirs(s.lab.Account, tmp); err != nil {
		return err
	}
	initFile := ""
	if initSQL != "" {
		initFile = filepath.Join(s.dir, "init.sql")
		if err := server.WritePrivate(initFile, []byte(initSQL), s.lab.Account); err != nil {
			return err
		}
	}
	kind := s.volume
	if kind == "" {
		kind = "shm"
	}
	text, err := s.lab.Server.Render(server.Config{
		Stage: stage, Volume: kind, DataDir: s.data(), RunDir: s.dir, TmpDir: tmp, InitFile: initFile,
	})
	if err == nil && s.noLog {
		text, err = withoutLog(text)
	}
	if err != nil {
		return err
	}
	return server.WritePrivate(s.config(), []byte(text), s.lab.Account)
}

var logSetting = regexp.MustCompile(`(?m)^log_bin = .*$`)

// withoutLog takes the binary log out of an option file.
func withoutLog(text string) (string, error) {
	if len(logSetting.FindAllString(text, -1)) != 1 {
		return "", errors.New("switch the binary log off: the settings have none")
	}
	return logSetting.ReplaceAllString(text, "skip_log_bin"), nil
}

// initialise makes a data directory with stock settings.
func (s *plainServer) initialise(ctx context.Context) error {
	s.login = server.Login{User: server.SupervisorUser, Password: server.NewPassword()}
	if err := s.files(server.Stock, ""); err != nil {
		return err
	}
	if err := server.MakeDirs(s.lab.Account, s.data()); err != nil {
		return err
	}
	return s.lab.Server.Bootstrap(ctx, server.Stock, s.config(), s.dir, s.log(), s.lab.Account)
}

// start starts the server with stock settings, up to its first answer.
func (s *plainServer) start(ctx context.Context) error {
	app := server.Login{User: "app", Password: server.NewPassword()}
	if err := s.files(server.Stock, s.lab.Server.InitSQL(s.login, app, "", false)); err != nil {
		return err
	}
	return s.ready(ctx)
}

// ready starts the server up to its first answer.
func (s *plainServer) ready(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	db, err := server.Open(s.socket(), s.login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	return s.proc.Ready(ctx, db, s.socket(), s.log())
}

func (s *plainServer) launch() error {
	if err := s.lab.Server.WriteKeys(filepath.Join(s.lab.Dir, "keys"), s.dir, s.lab.Account); err != nil {
		return err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.proc, err = s.lab.Server.Start(s.config(), s.lab.Account, s.dir, log, server.Synced)
	return err
}

// load runs the client over the dump.
func (s *plainServer) load(ctx context.Context) error {
	if err := s.writeClient(); err != nil {
		return err
	}
	return s.client(ctx, s.lab.Dump)
}

func (s *plainServer) clientConfig() string { return filepath.Join(s.dir, "client.cnf") }

// writeClient writes the option file of the client.
func (s *plainServer) writeClient() error {
	e := server.Endpoint{Socket: s.socket(), Login: s.login}
	return server.WritePrivate(s.clientConfig(), []byte(e.ClientConfig()), server.Account{})
}

// client runs the client over a file of statements.
func (s *plainServer) client(ctx context.Context, path string) error {
	dump, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dump.Close()
	argv := append(append([]string{}, s.lab.Server.Client.Argv...), "--defaults-file="+s.clientConfig())
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.lab.Server.Client.Env...)
	cmd.Stdin = dump
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("load: %w: %s", err, out)
	}
	return nil
}

func (s *plainServer) query(ctx context.Context) error {
	db, err := server.Open(s.socket(), s.login, s.lab.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM country").Scan(&n)
}

func (s *plainServer) verify(ctx context.Context) error {
	db, err := server.Open(s.socket(), s.login, s.lab.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	return s.lab.World.Verify(ctx, db)
}

// handshakePoll is the pause between two tries to connect.
const handshakePoll = 500 * time.Microsecond

// copyAndStart copies a data directory with cp -a and starts the server on it, up
// to the first byte of its handshake.
func (s *plainServer) copyAndStart(ctx context.Context, image string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", image, s.data()).CombinedOutput(); err != nil {
		return fmt.Errorf("cp -a: %w: %s", err, out)
	}
	return s.startBare(ctx)
}

// startBare starts the server up to the first byte of its handshake.
func (s *plainServer) startBare(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "unix", s.socket())
		if err == nil {
			_, err = c.Read(make([]byte, 1))
			err = errors.Join(err, c.Close())
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.proc.Done():
			return fmt.Errorf("%s\n%s", server.Cause(s.proc.Exit()), server.LogTail(s.log()))
		case <-time.After(handshakePoll):
		}
	}
}

// kill ends the server at once.
func (s *plainServer) kill() {
	if s.proc != nil {
		s.proc.Kill()
		s.proc = nil
	}
}

// remove ends the server and removes its directory. It may be called more than once,
// and before there is a server.
func (s *plainServer) remove() error {
	if s == nil {
		return nil
	}
	s.kill()
	return os.RemoveAll(s.dir)
}
