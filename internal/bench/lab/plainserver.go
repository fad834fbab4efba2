package lab

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

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
)

// PlainServer is a server that is set up by hand, as without ramaria.
type PlainServer struct {
	Lab *Lab
	Dir string
	// volume is the kind that the settings are for, "" for shm.
	Volume string
	// noLog starts it with ramaria's settings, but without a binary log.
	noLog bool
	// set are settings over the others.
	Set map[string]string
	// tmp is where temporary files go, "" for a directory of its own.
	Tmp string
	// SyncedLog is the directory of a binary log that is synced at each commit, as its redo log is;
	// "" leaves that to the settings.
	SyncedLog string
	// throttle holds its disk back; nil does not.
	Throttle *runner.Throttle
	// tcp makes it listen on loopback as well, at port; app is an account like that of an
	// instance's application.
	TCP   bool
	Port  int
	Login dbconn.Login
	App   dbconn.Login
	Proc  *server.Process
	// last is what its option file was rendered from.
	last server.Config
}

// Data is its data directory.
func (s *PlainServer) Data() string { return filepath.Join(s.Dir, "data") }

func (s *PlainServer) config() string { return filepath.Join(s.Dir, "my.cnf") }

func (s *PlainServer) log() string { return filepath.Join(s.Dir, "server.log") }

// Socket is its Unix socket.
func (s *PlainServer) Socket() string { return server.SocketPath(s.Dir) }

// Prepare makes the server's directory and option file, for a copy of an image: accounts come
// with the start, as those of ramaria's instances.
func (s *PlainServer) Prepare() error {
	s.Login = dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()}
	s.App = dbconn.Login{User: image.DefaultUser, Password: dbconn.NewPassword()}
	return s.files(server.Run, s.Lab.Server.Dialect().InitSQL(s.Login, s.App, "", false))
}

func (s *PlainServer) files(stage server.Stage, initSQL string) error {
	if err := os.MkdirAll(s.Dir, 0o711); err != nil {
		return err
	}
	if err := s.Lab.Account.Own(s.Dir, 0o711); err != nil {
		return err
	}
	tmp := filepath.Join(s.Dir, "tmp")
	if err := server.MakeDirs(s.Lab.Account, tmp); err != nil {
		return err
	}
	for _, name := range s.Lab.Server.ScratchDirs() {
		if err := server.MakeDirs(s.Lab.Account, filepath.Join(cmp.Or(s.Tmp, tmp), name)); err != nil {
			return err
		}
	}
	initFile := ""
	if initSQL != "" {
		initFile = filepath.Join(s.Dir, "init.sql")
		if err := server.WritePrivate(initFile, []byte(initSQL), s.Lab.Account); err != nil {
			return err
		}
	}
	kind := s.Volume
	if kind == "" {
		kind = "shm"
	}
	s.last = server.Config{
		Stage: stage, Volume: kind, DataDir: s.Data(), RunDir: s.Dir, TmpDir: cmp.Or(s.Tmp, tmp), InitFile: initFile, Port: s.Port, Set: s.Set,
		Unconfined: s.SyncedLog != "", // it lies outside of the rest
	}
	text, err := s.Lab.Server.Render(s.last)
	if s.SyncedLog != "" && initFile != "" {
		text += fmt.Sprintf(syncedLog, s.SyncedLog, server.BinlogName)
		err = errors.Join(err, server.MakeDirs(s.Lab.Account, s.SyncedLog))
	}
	if err == nil && s.noLog {
		text, err = withoutLog(text)
	}
	if err != nil {
		return err
	}
	return server.WritePrivate(s.config(), []byte(text), s.Lab.Account)
}

// syncedLog is a binary log as the manuals advise it for what must not be lost, with whole rows as
// ramaria's has them.
const syncedLog = `
log_bin = %s/%s
server_id = 1
binlog_format = ROW
sync_binlog = 1
innodb_flush_log_at_trx_commit = 1
`

var logSetting = regexp.MustCompile(`(?m)^log_bin = .*$`)

// withoutLog takes the binary log out of an option file.
func withoutLog(text string) (string, error) {
	if len(logSetting.FindAllString(text, -1)) != 1 {
		return "", errors.New("switch the binary log off: the settings have none")
	}
	return logSetting.ReplaceAllString(text, "skip_log_bin"), nil
}

// Initialise makes a data directory with stock settings.
func (s *PlainServer) Initialise(ctx context.Context) error {
	s.Login = dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()}
	if err := s.files(server.Stock, ""); err != nil {
		return err
	}
	if err := server.MakeDirs(s.Lab.Account, s.Data()); err != nil {
		return err
	}
	return s.Lab.Server.Bootstrap(ctx, s.config(), s.last, s.Dir, s.log(), s.Lab.Account)
}

// Start starts the server with stock settings, up to its first answer.
func (s *PlainServer) Start(ctx context.Context) error {
	s.App = dbconn.Login{User: image.DefaultUser, Password: dbconn.NewPassword()}
	if s.TCP {
		var err error
		if s.Port, err = server.FreePort(ctx, server.Loopback); err != nil {
			return err
		}
	}
	if err := s.files(server.Stock, s.Lab.Server.Dialect().InitSQL(s.Login, s.App, "", false)); err != nil {
		return err
	}
	return s.ready(ctx)
}

// ready starts the server up to its first answer.
func (s *PlainServer) ready(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	db, err := dbconn.Open(s.Socket(), s.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	return s.Proc.Ready(ctx, db, s.Socket(), s.log())
}

func (s *PlainServer) launch() error {
	if err := s.Lab.Server.WriteKeys(filepath.Join(s.Lab.Dir, "keys"), s.Dir, s.Lab.Account); err != nil {
		return err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// Apart from its clients, as ramaria's instances are.
	if s.Proc, err = s.Lab.Server.StartApart(s.config(), s.last, s.Lab.Account, s.Dir, log, server.Synced); err != nil {
		return err
	}
	return s.Throttle.Add(s.Proc.PID())
}

// ClientConfig is the option file of its clients.
func (s *PlainServer) ClientConfig() string { return filepath.Join(s.Dir, "client.cnf") }

// WriteClient writes the option file of the client.
func (s *PlainServer) WriteClient() error {
	return server.WritePrivate(s.ClientConfig(), []byte(s.Endpoint("").ClientConfig()), server.Account{})
}

// Client runs the client over a file of statements.
func (s *PlainServer) Client(ctx context.Context, path string) error {
	return ShellClient{s.Lab.Server.Client, s.ClientConfig()}.File(ctx, "", path)
}

// Endpoint is its supervisor's.
func (s *PlainServer) Endpoint(database string) dbconn.Endpoint {
	return dbconn.Endpoint{Socket: s.Socket(), Login: s.Login, Database: database}
}

// handshakePoll is the pause between two tries to connect.
const handshakePoll = 500 * time.Microsecond

// CopyAndStart copies a data directory with cp -a and starts the server on it, up
// to the first byte of its handshake.
func (s *PlainServer) CopyAndStart(ctx context.Context, image string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", image, s.Data()).CombinedOutput(); err != nil {
		return fmt.Errorf("cp -a: %w: %s", err, out)
	}
	return s.StartBare(ctx)
}

// StartBare starts the server up to the first byte of its handshake.
func (s *PlainServer) StartBare(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return err
	}
	err := handshake(ctx, s.Socket(), s.Proc.Done(), server.StartTimeout)
	if errors.Is(err, errEnded) {
		return fmt.Errorf("%s\n%s", server.Cause(s.Proc.Exit()), server.LogTail(s.log()))
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

// Kill ends the server at once.
func (s *PlainServer) Kill() {
	if s.Proc != nil {
		s.Proc.Kill()
		s.Proc = nil
	}
}

// Remove ends the server and removes its directory. It may be called more than once,
// and before there is a server.
func (s *PlainServer) Remove() error {
	if s == nil {
		return nil
	}
	s.Kill()
	err := os.RemoveAll(s.Dir)
	if s.SyncedLog != "" {
		err = errors.Join(err, os.RemoveAll(s.SyncedLog))
	}
	return err
}
