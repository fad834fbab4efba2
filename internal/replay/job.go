package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Job replays logs into a data directory that was shut down cleanly.
type Job struct {
	// Server is that which wrote the logs, and Account the one that it runs under.
	Server  *server.Server
	Account server.Account
	// Dir is a directory of the caller's, which Account may pass through (0711). It holds the log of
	// the server, and meanwhile a copy of the logs, which is mostly smaller.
	Dir string
	// RunDir is where the socket is to be, since Dir may be too long a path for that; "" is Dir/run.
	RunDir string
	// DataDir belongs to Account, and Volume is the kind of volume that it lies in.
	DataDir, Volume string
	// PageSize and Set are as in server.Config. What Set has about logs and replication is passed over.
	PageSize int
	Set      map[string]string
	// BufferPool is how many bytes of memory the server may use for pages; less than 256 MB are taken for that.
	BufferPool int64
	// Unconfined is as in server.Config.
	Unconfined bool
	// User is the name of the application's account, "" for none; see Result.PasswordChanged.
	User string
	// GTIDs is the state of MariaDB's GTIDs before the first of Logs.
	GTIDs binlog.GTIDs
	// Settled says that the log has of XA transactions what the server did; before Ramaria saw to that, NonePrepared says
	// that none is prepared in the data.
	Settled, NonePrepared bool
	// Emptied are the tables, SCHEMA.TABLE, that are of engine MEMORY in the data.
	Emptied []string
	// Made is when the data was like that; zero if it is the data of a server that was shut down. Statements that began
	// before may be in it, although they were logged later.
	Made time.Time
	// Ahead are statements that are in the data, by their binlog.StatementID, and come among the first of the logs.
	Ahead []string
	// Plain says to give tables without a key no index meanwhile.
	Plain bool
	// Serial says to apply one transaction after the other, where several would be at once.
	Serial bool
	// Logs are the files, in order. Those of several epochs may follow each other.
	Logs []Log
	// Progress, unless nil, is told now and then how many bytes of the logs are applied.
	Progress func(done, total int64)
}

// Log is a part of a file of a binary log.
type Log struct {
	// Path is the file, as the server wrote it. No server can write to its directory.
	Path string
	// From and To are where groups end (binlog.Group), or what stands between them. From is 4 or 0 but
	// for the first file; 0 for To is the end of the last group that is whole.
	From, To int64
	// Given says that the file may be used up, as soon as it was read, which saves room.
	Given bool
}

// Result is what was done.
type Result struct {
	// Groups and Bytes are how much was applied, and Seconds how long that took, with start and
	// shutdown of the server.
	Groups, Bytes int64
	Seconds       float64
	// Delayed is how long the server's applier waited for a processor meanwhile.
	Delayed time.Duration
	// GTIDState is the state with which MariaDB's next log must begin (dbconn.Dialect.SeedGTIDs), ""
	// if it has none.
	GTIDState string
	// Searched are the tables without a unique key that got an index meanwhile.
	Searched []Table
	// PasswordChanged says that the log gave User another password.
	PasswordChanged bool
}

// Run applies the logs. Errors are *binlog.CorruptError for a log that is damaged, before anything was
// applied, and *ApplyError where the server could not apply what it reads.
func (j *Job) Run(ctx context.Context) (Result, error) {
	r, err := j.run(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("replay binary log: %w", err)
	}
	return r, nil
}

// run is the whole of a replay, step by step.
func (j *Job) run(ctx context.Context) (_ Result, err error) {
	began := time.Now()
	s := &session{Job: j, admin: dbconn.Login{User: adminUser(), Password: dbconn.NewPassword()}}
	defer func() {
		err = errors.Join(err, s.clear())
	}()
	if err := s.prepare(); err != nil {
		return Result{}, err
	}
	if err := s.layRelayLog(ctx); err != nil {
		return Result{}, err
	}
	if s.plan.groups > 0 {
		if err := s.apply(ctx); err != nil {
			if s.stops > 0 && ctx.Err() == nil {
				err = &StoppedError{err}
			}
			return Result{}, err
		}
	}
	return Result{Groups: s.plan.groups, Bytes: s.plan.bytes, Seconds: time.Since(began).Seconds(), Delayed: s.delayed, GTIDState: s.plan.gtids.String(), PasswordChanged: s.passwordChanged, Searched: s.given}, nil
}

// apply has the server apply the relay log, and leave nothing else.
func (s *session) apply(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.start, s.remakeNotes, s.noteEvents, s.noteLogins, s.leaveChecks, s.takeRelayLog, s.applyAll, s.ofNobody, s.compareLogins, s.forget, s.putEventsBack, s.removeAdmin, s.stop, s.removeTraces,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) runDir() string {
	if j.RunDir != "" {
		return j.RunDir
	}
	return filepath.Join(j.Dir, "run")
}

func (j *Job) tmpDir() string  { return filepath.Join(j.Dir, "replay-tmp") }
func (j *Job) logPath() string { return filepath.Join(j.Dir, "replay.log") }

// adminUser is a name that no account has.
func adminUser() string { return "replay_" + dbconn.NewPassword()[:8] }

// transient are the files below a data directory that are recreated by each server.
func transient(root *os.Root) (map[string]bool, error) {
	list := map[string]bool{}
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && server.Transient(path) {
			list[path] = true
		}
		return err
	})
	return list, err
}
