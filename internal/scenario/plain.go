package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/image"
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
	// set are settings over the others.
	set map[string]string
	// tmp is where temporary files go, "" for a directory of its own.
	tmp string
	// throttle holds its disk back; nil does not.
	throttle *bench.Throttle
	// tcp has it listen on loopback as well, at port; app is an account like that of an
	// instance's application.
	tcp   bool
	port  int
	login server.Login
	app   server.Login
	proc  *server.Process
	// last is what its option file was rendered from.
	last server.Config
}

func (s *plainServer) data() string   { return filepath.Join(s.dir, "data") }
func (s *plainServer) config() string { return filepath.Join(s.dir, "my.cnf") }
func (s *plainServer) log() string    { return filepath.Join(s.dir, "server.log") }
func (s *plainServer) socket() string { return server.SocketPath(s.dir) }

// shm is the lab's volume in shared memory.
func (l *Lab) shm() (string, error) {
	p, err := l.homeDirs()
	return p.Shm, err
}

// prepare makes the server's directory and option file, for a copy of an image: accounts come
// with the start, as those of ramaria's instances.
func (s *plainServer) prepare() error {
	s.login = server.Login{User: server.SupervisorUser, Password: server.NewPassword()}
	s.app = server.Login{User: image.DefaultUser, Password: server.NewPassword()}
	return s.files(server.Run, s.lab.Server.InitSQL(s.login, s.app, "", false))
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
	for _, name := range s.lab.Server.ScratchDirs() {
		if err := server.MakeDirs(s.lab.Account, filepath.Join(cmp.Or(s.tmp, tmp), name)); err != nil {
			return err
		}
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
	s.last = server.Config{
		Stage: stage, Volume: kind, DataDir: s.data(), RunDir: s.dir, TmpDir: cmp.Or(s.tmp, tmp), InitFile: initFile, Port: s.port, Set: s.set,
	}
	text, err := s.lab.Server.Render(s.last)
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
	return s.lab.Server.Bootstrap(ctx, s.config(), s.last, s.dir, s.log(), s.lab.Account)
}

// start starts the server with stock settings, up to its first answer.
func (s *plainServer) start(ctx context.Context) error {
	s.app = server.Login{User: image.DefaultUser, Password: server.NewPassword()}
	if s.tcp {
		var err error
		if s.port, err = server.FreePort(ctx); err != nil {
			return err
		}
	}
	if err := s.files(server.Stock, s.lab.Server.InitSQL(s.login, s.app, "", false)); err != nil {
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
	// Apart from its clients, as ramaria's instances are.
	if s.proc, err = s.lab.Server.StartApart(s.config(), s.last, s.lab.Account, s.dir, log, server.Synced); err != nil {
		return err
	}
	return s.throttle.Add(s.proc.PID())
}

func (s *plainServer) clientConfig() string { return filepath.Join(s.dir, "client.cnf") }

// writeClient writes the option file of the client.
func (s *plainServer) writeClient() error {
	return server.WritePrivate(s.clientConfig(), []byte(s.endpoint("").ClientConfig()), server.Account{})
}

// client runs the client over a file of statements.
func (s *plainServer) client(ctx context.Context, path string) error {
	return shellClient{s.lab.Server.Client, s.clientConfig()}.file(ctx, "", path)
}

// endpoint is its supervisor's.
func (s *plainServer) endpoint(database string) server.Endpoint {
	return server.Endpoint{Socket: s.socket(), Login: s.login, Database: database}
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
	err := handshake(ctx, s.socket(), s.proc.Done(), server.StartTimeout)
	if errors.Is(err, errEnded) {
		return fmt.Errorf("%s\n%s", server.Cause(s.proc.Exit()), server.LogTail(s.log()))
	}
	return err
}

var errEnded = errors.New("the server ended")

// handshake waits for the first byte that a server sends, for no longer than limit and while
// the server is there.
func handshake(ctx context.Context, socket string, ended <-chan struct{}, limit time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	over, _ := wait.Deadline()
	var last error
	for {
		err := greeting(wait, socket)
		if err == nil {
			return nil
		}
		if last == nil || time.Now().Before(over) { // not that the time was over
			last = err
		}
		select {
		case <-ended:
			return errEnded
		case <-wait.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("wait for the server's handshake: none in %s (last: %w)", limit, last)
		case <-time.After(handshakePoll):
		}
	}
}

func greeting(ctx context.Context, socket string) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() }) // one that says nothing
	defer stop()
	_, err = c.Read(make([]byte, 1))
	return errors.Join(err, c.Close())
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
