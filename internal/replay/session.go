package replay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// serverID is the number of the server that applies: one of its own, since an applier passes over what it
// takes for its own. The profile has it apply that too.
const serverID = 4294967294

// poll is how often the applier is asked how far it is, and leastPoll how soon for the first time.
const poll, leastPoll = 50 * time.Millisecond, 2 * time.Millisecond

// session is a Job at work.
type session struct {
	*Job
	plan  plan
	admin dbconn.Login
	proc  *server.Process
	db    *sql.DB
	// flights are the statements that may be refused because the data has what they did.
	flights []flight
	// given is Result.Searched.
	given []Table
	// stops is how often the applier was stopped for an index.
	stops int
	// until is where the applier is to stop, and checkAt where a CHECK last stopped it.
	until, checkAt spot
	// before are the transient files of the data directory, as they were.
	before map[string]bool
	// changes are what the log does to events, in order, and events the states that they come to.
	changes []eventChange
	events  eventStates
	// loose are statements that noteCurrentUser has found, as they were said.
	loose map[string]bool
	// applied are the GTIDs that a replica had applied before, quoted.
	applied string
	// delayed is Result.Delayed.
	delayed time.Duration
	// upgrades says that the server makes system tables of its own when it starts.
	upgrades bool
	// logins are those of User before the log, and passwordChanged is Result.PasswordChanged.
	logins          string
	passwordChanged bool
}

// ApplyError says that the server could not apply what the log has.
type ApplyError struct {
	// Path and Offset are where the transaction begins.
	Path   string
	Offset int64
	// Early says that it may begin far behind that: several were made one (binlog.Merge), or were applied at once, so that it
	// is known only where all before are applied. The data made again, Job.Serial tells where it begins.
	Early bool
	// Errno is the server's number, and Text what it says, mostly with the statement.
	Errno int
	Text  string
}

func (e *ApplyError) Error() string {
	return fmt.Sprintf("apply %s from %d on: error %d: %s", e.Path, e.Offset, e.Errno, e.Text)
}

// StoppedError is an error of a replay that stopped the applier to give tables an index: it may be of that. The data is spoilt;
// made again, Job.Plain applies the log without.
type StoppedError struct{ Err error }

func (e *StoppedError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *StoppedError) Unwrap() error { return e.Err }

// prepare makes the directories and files of a start.
func (s *session) prepare() (err error) {
	root, err := os.OpenRoot(s.DataDir)
	if err != nil {
		return err
	}
	s.before, err = transient(root)
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	if err := os.RemoveAll(s.tmpDir()); err != nil {
		return fmt.Errorf("remove what an earlier replay left: %w", err)
	}
	if err := server.MakeDirs(s.Account, s.runDir()); err != nil {
		return err
	}
	// It is the caller's until the relay log is there.
	if err := os.Mkdir(s.tmpDir(), 0o711); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return nil
}

// config is what the server is started with.
func (s *session) config() server.Config {
	return server.Config{
		Stage: server.Replay, Volume: s.Volume, DataDir: s.DataDir, RunDir: s.runDir(), TmpDir: s.tmpDir(), InitFile: filepath.Join(s.runDir(), "init.sql"),
		ServerID: serverID, PageSize: s.PageSize, ReplayPool: s.BufferPool, Serial: s.Serial, Set: s.set(), Unconfined: s.Unconfined,
	}
}

// start starts the server and waits for its first answer.
func (s *session) start(ctx context.Context) error {
	if err := s.Account.Own(s.tmpDir(), 0o700); err != nil {
		return err
	}
	c := s.config()
	text, err := s.Server.Render(c)
	if err != nil {
		return err
	}
	option := filepath.Join(s.runDir(), "my.cnf")
	err = errors.Join(server.WritePrivate(option, []byte(text), s.Account), server.WritePrivate(c.InitFile, []byte(s.Server.Dialect().AdminSQL(s.admin)), s.Account))
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open server log: %w", err)
	}
	defer log.Close()
	if s.proc, err = s.Server.Start(option, c, s.Account, s.Dir, log, server.Unsynced); err != nil {
		return err
	}
	socket := server.SocketPath(s.runDir())
	if s.db, err = dbconn.Open(socket, s.admin, ""); err != nil {
		return err
	}
	return s.proc.Ready(ctx, s.db, socket, s.logPath())
}

func (s *session) exec(ctx context.Context, statement string) error {
	if _, err := s.db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// noteLogins remembers how the application logs in before the log.
func (s *session) noteLogins(ctx context.Context) (err error) {
	s.logins, err = s.Server.Dialect().LoginsOf(ctx, s.db, s.User)
	return err
}

// compareLogins looks whether the log has changed that.
func (s *session) compareLogins(ctx context.Context) error {
	now, err := s.Server.Dialect().LoginsOf(ctx, s.db, s.User)
	s.passwordChanged = now != s.logins
	return err
}

// takeRelayLog makes the server a replica with that relay log.
func (s *session) takeRelayLog(ctx context.Context) error {
	d := s.Server.Dialect()
	if d.AppliedGTIDs != "" {
		if err := s.db.QueryRowContext(ctx, "SELECT QUOTE(@@GLOBAL."+d.AppliedGTIDs+")").Scan(&s.applied); err != nil {
			return fmt.Errorf("read %s: %w", d.AppliedGTIDs, err)
		}
	}
	if version := s.plan.sourceVersion(); version != "" && s.Server.AsksSource() {
		return s.tellVersion(ctx, version)
	}
	return s.exec(ctx, d.ApplyFrom(s.relayName(0), firstEvent))
}

// wait waits until the applier has come to where it was told to stop.
func (s *session) wait(ctx context.Context) error {
	asked := time.Now()
	for pause := leastPoll; ; pause = min(2*pause, poll) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.proc.Done():
			return s.died()
		case <-time.After(pause):
		}
		if busy, err := s.busy(ctx); err == nil && busy && time.Since(asked) < statusPoll {
			continue
		}
		asked = time.Now()
		state, err := s.Server.Dialect().ApplierState(ctx, s.db)
		if err != nil {
			select {
			case <-s.proc.Done():
				return s.died()
			default:
				return err
			}
		}
		if state.Errno != 0 && state.Running {
			continue // it says why it ends before it has
		}
		i, within := s.part(state.File)
		if state.Errno != 0 {
			passed, err := s.mend(ctx, state)
			if err != nil {
				return err
			}
			if passed {
				continue
			}
			return s.failed(ctx, state)
		}
		if s.Progress != nil {
			s.Progress(s.plan.done(i, state.Pos), s.plan.bytes)
		}
		if state.Running {
			continue
		}
		if !within && filepath.Base(state.File) != s.relayName(i) { // MySQL goes on to the file that endRelayLog makes
			return fmt.Errorf("the applier stopped in %q, which is none of its files\n%s", state.File, server.LogTail(s.logPath()))
		}
		if within && (spot{i, state.Pos}).compare(s.until) < 0 {
			path, offset := s.plan.source(i, state.Pos)
			return fmt.Errorf("the applier stopped at %s:%d\n%s", path, offset, server.LogTail(s.logPath()))
		}
		s.delayed = sys.RunDelay(s.proc.PID())
		return nil
	}
}

// mend has the applier go on where it stopped at a statement that can be done in another way, or was done, and reports whether
// it is one.
func (s *session) mend(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	for _, way := range []func(context.Context, dbconn.ApplierState) (bool, error){s.byCurrentUser, s.passOver, s.emptyVersioned, s.grantOnGone, s.beginAtCheck} {
		if passed, err := way(ctx, state); passed || err != nil {
			return passed, err
		}
	}
	return false, nil
}

// statusPoll is how often MariaDB is asked for its status while its applier is at work. A server of 11.8.9 crashed twice
// while it was asked every few milliseconds and its applier was stopped time and again; why is not known.
const statusPoll = time.Second

// busy reports whether MariaDB has an applier at work; of MySQL it does not say so.
func (s *session) busy(ctx context.Context) (bool, error) {
	if s.Server.Flavour != server.MariaDB {
		return false, nil
	}
	var n int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Slave_SQL'").Scan(&n)
	return n > 0, err
}

// failed says at what the applier failed.
func (s *session) failed(ctx context.Context, state dbconn.ApplierState) error {
	e := &ApplyError{Errno: state.Errno, Text: server.WithoutPasswords(state.Text)}
	if s.Serial && s.Server.Flavour == server.MySQL {
		if err := s.askWorker(ctx, &state); err != nil {
			return err
		}
	}
	if i, ok := s.part(state.File); ok {
		e.Path, e.Offset = s.plan.source(i, state.Pos)
		e.Early = !s.Serial && (s.Server.Flavour == server.MySQL || s.plan.place(i, state.Pos).Groups > 1)
	}
	if tail := server.LogTail(s.logPath()); tail != "" {
		e.Text += "\n" + tail
	}
	return e
}

// askWorker corrects where a MySQL is that applies one transaction after the other. Later releases have a worker for that,
// too, and look only now and then at what it has done; with each transaction that writes down where it is.
//
// https://dev.mysql.com/doc/refman/9.6/en/replica-logs-status.html
func (s *session) askWorker(ctx context.Context, state *dbconn.ApplierState) error {
	var file string
	var pos int64
	err := s.db.QueryRowContext(ctx, "SELECT relay_log_name, relay_log_pos FROM mysql.slave_worker_info USE INDEX () WHERE channel_name = ?", s.Server.Dialect().Applier.Channel).Scan(&file, &pos)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask how far the log is applied: %w", err)
	}
	is, ok := s.part(file)
	was, known := s.part(state.File)
	if ok && known && (spot{is, pos}).compare(spot{was, state.Pos}) > 0 {
		state.File, state.Pos = file, pos
	}
	return nil
}

func (s *session) died() error {
	return fmt.Errorf("the server ended: %s\n%s", server.Cause(s.proc.Exit()), server.LogTail(s.logPath()))
}

// forget makes the server no replica, or the one that it was.
func (s *session) forget(ctx context.Context) error {
	d := s.Server.Dialect()
	if err := s.exec(ctx, d.ForgetSource()); err != nil || d.AppliedGTIDs == "" {
		return err
	}
	return s.exec(ctx, "SET GLOBAL "+d.AppliedGTIDs+" = "+s.applied)
}

// removeAdmin removes the session's own account, whose last statement that is.
func (s *session) removeAdmin(ctx context.Context) error {
	return s.exec(ctx, s.Server.Dialect().EndAdminSQL(s.admin))
}

// stop shuts the server down cleanly. It would wait for a session that is there.
func (s *session) stop(ctx context.Context) error {
	if err := s.db.Close(); err != nil {
		return err
	}
	if err := s.proc.Stop(ctx); err != nil {
		return fmt.Errorf("shut down: %s\n%s", server.Cause(err), server.LogTail(s.logPath()))
	}
	return nil
}

// removeTraces removes from the data directory what the server made for itself.
func (s *session) removeTraces(context.Context) (err error) {
	root, err := os.OpenRoot(s.DataDir)
	if err != nil {
		return fmt.Errorf("remove traces: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	after, err := transient(root)
	for path := range after {
		if !s.before[path] {
			err = errors.Join(err, root.Remove(path))
		}
	}
	if err != nil {
		return fmt.Errorf("remove traces: %w", err)
	}
	return nil
}

// clear ends what still runs, and removes what is of no use any more.
func (s *session) clear() (err error) {
	if s.db != nil {
		_ = s.db.Close() // the server may be gone
	}
	if s.proc != nil {
		s.proc.Kill()
	}
	for _, path := range []string{s.tmpDir(), s.runDir()} {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
