package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// portTries is how often another free port is chosen when another process took it
// between the choice and the server's start.
const portTries = 5

// startServer starts the server process and waits until it is ready, with a new
// port if the chosen one is taken and was not asked for.
func (s *Supervisor) startServer(ctx context.Context) error {
	started := time.Now()
	s.putPasswordBack()
	if s.volume.Shares() {
		if err := s.inst.Server.OwnRedoLog(ctx, s.inst.DataDir(), s.inst.Account); err != nil {
			s.log.Warn("the redo log shares blocks with others, which costs speed", "error", err)
		}
	}
	s.deaf = time.Time{}
	for try := 1; ; try++ {
		if err := s.choosePort(ctx); err != nil {
			return err
		}
		if err := s.openTmpDir(ctx); err != nil {
			return err
		}
		if err := s.writeFiles(); err != nil {
			return err
		}
		if err := s.writeMember(ctx); err != nil {
			return err
		}
		err := s.startOnce(ctx)
		if err == nil {
			s.state.ReadySeconds = time.Since(started).Seconds()
			return nil
		}
		if errors.Is(err, errDeaf) && s.deaf.IsZero() {
			s.log.Warn("the server is started once more", "error", err)
			s.proc.Kill()
			s.deaf = time.Now()
			continue
		}
		if !server.PortTaken(s.inst.LogPath()) || s.inst.Spec.Port != 0 || try == portTries {
			return err
		}
		s.inst.Endpoint.Port = 0
	}
}

func (s *Supervisor) startOnce(ctx context.Context) error {
	log, err := os.OpenFile(s.inst.LogPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open server log: %w", err)
	}
	defer log.Close()
	if fi, err := log.Stat(); err == nil {
		s.logFrom = fi.Size()
	}
	s.countOOM()
	s.oomBefore = s.oom
	proc, err := s.inst.Server.StartScratch(s.inst.ConfigPath(), s.config(), s.inst.Account, s.inst.Dir, log, server.Unsynced, s.scratch())
	if err != nil {
		return err // after a rewind s.proc is the old one, and has ended
	}
	if err := proc.ScratchErr(); err != nil && s.wheatFS() != nil {
		proc.Kill()
		return fmt.Errorf("use --tmpdir wheatfs: %w", err)
	} else if err != nil {
		s.log.Warn("temporary files lie in the volume, which costs speed", "error", err)
	}
	s.proc = proc
	s.state.ServerPID, s.state.Confined = s.proc.PID(), s.proc.Confined
	if err := s.saveState(); err != nil {
		return err
	}
	if s.db == nil {
		if s.db, err = dbconn.Open(s.inst.Socket(), s.inst.Supervisor, ""); err != nil {
			return err
		}
		// One connection, kept: it is there when max_connections is reached, and a
		// session of one's own has the settings that one gave it.
		s.db.SetMaxOpenConns(1)
	}
	if err := s.openGate(ctx); err != nil {
		s.proc.Kill()
		return err
	}
	err = s.unlessDeaf(ctx, func(ctx context.Context) error { return s.proc.Ready(ctx, s.db, s.inst.Socket(), s.inst.LogPath()) })
	if err != nil && ctx.Err() == nil && s.Ended() {
		if oom := s.oomReason(s.proc.Exit()); oom != "" {
			return errors.New(oom)
		}
	}
	if err == nil {
		s.noteLogins(ctx)
		err = s.openTraffic()
	}
	return s.explainTmpDir(err)
}

// choosePort settles the TCP port: the one asked for, or the last one, or any.
func (s *Supervisor) choosePort(ctx context.Context) (err error) {
	if s.isMember() && s.member.Network != "" { // where all ports are its own
		return nil
	}
	if s.inst.Spec.Port != 0 {
		return server.TryPort(ctx, s.inst.Endpoint.Host, s.inst.Spec.Port)
	}
	if s.inst.Endpoint.Port != 0 && server.TryPort(ctx, s.inst.Endpoint.Host, s.inst.Endpoint.Port) == nil {
		return nil
	}
	s.inst.Endpoint.Port, err = server.FreePort(ctx, s.inst.Endpoint.Host)
	return err
}

// writeFiles writes what the server reads at its start, and removes what a killed
// one left.
func (s *Supervisor) writeFiles() error {
	i := s.inst
	if err := server.MakeDirs(i.Account, i.RunDir, s.tmpDir.Path(), i.FilesDir()); err != nil {
		return err
	}
	for _, name := range i.Server.ScratchDirs() { // for where there is no scratch
		if err := server.MakeDirs(i.Account, filepath.Join(s.tmpDir.Path(), name)); err != nil {
			return err
		}
	}
	if i.Spec.Socket != "" {
		if err := server.ClaimSocket(i.Spec.Socket, i.Account); err != nil {
			return err
		}
	}
	// MySQL's lock beside the socket names a process; that number may be another one's now.
	if err := removeIn(i.RunDir, filepath.Base(server.SocketPath(i.RunDir)), filepath.Base(server.SocketPath(i.RunDir))+".lock"); err != nil {
		return fmt.Errorf("remove old socket: %w", err)
	}
	if err := os.Rename(i.LogPath(), i.OldLogPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("put old log aside: %w", err)
	}
	if err := os.Remove(i.OldLogPath() + newSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove what was left of putting a log aside: %w", err)
	}
	database := i.Endpoint.Database
	if s.durable() || s.isReplica() || s.isFollowed() || s.isMember() || s.isBeingHandedOver() { // what no log has would be missing after a recovery, or at a replica
		database = ""
	}
	level := s.level()
	sql := i.Server.DialectOf(level).InitSQL(i.Supervisor, i.Endpoint.Login, database, brakes(s.volume) || s.isReplica() || s.isMember() || s.isHandedOver(), s.withheld()...)
	before, after := s.memberSQL()
	sql = before + sql + after
	first := ""
	// Before any connection: settings that outlive a restart (SET PERSIST) could say otherwise.
	if !s.isMember() || s.inGroup() { // what others have is answered at once until it has joined
		sql += server.PromiseSQL(i.Server.Promises(level, i.Volume))
	}
	switch {
	case s.keeper == nil || s.keeper.Seed == "":
	case s.isMember() && !s.inGroup(): // what others have is logged before the server reads its init file
		if err := server.WriteLogState(i.DataDir(), s.keeper.Seed, i.Account); err != nil {
			return err
		}
	default:
		first = i.Server.Dialect().SeedGTIDs(s.keeper.Seed) + ";\n"
	}
	sql += s.staleReplicas() + s.handedOverSQL()
	if err := s.writeInit(first, sql); err != nil {
		return err
	}
	if err := server.WriteClientHome(i.ClientDir(), i.Endpoint); err != nil {
		return err
	}
	if err := i.Server.WriteKeys(s.options.Keys, i.RunDir, i.Account); err != nil {
		return err
	}
	text, err := i.Server.Render(s.config())
	if err != nil {
		return err
	}
	return server.WritePrivate(i.ConfigPath(), []byte(text), i.Account)
}

// withheld are the privileges that the application of a replica does not get.
func (s *Supervisor) withheld() []string {
	if s.isReplica() {
		return []string{s.inst.Server.Dialect().ObeySource}
	}
	return nil
}

// removeIn removes files of a directory that the server may write to.
func removeIn(path string, names ...string) (err error) {
	dir, err := sys.OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.CloseWith(&err)
	for _, name := range names {
		err = errors.Join(err, dir.Remove(name))
	}
	return err
}

// config is what a start of the server is configured by.
func (s *Supervisor) config() server.Config {
	i := s.inst
	return server.Config{
		Stage: server.Run, Durability: s.level(), Volume: i.Volume, DataDir: i.DataDir(), RunDir: i.RunDir, Socket: i.Spec.Socket, TmpDir: s.tmpDir.Path(), TempInTmpDir: s.wheatFS() != nil, FilesDir: i.FilesDir(),
		InitFile: initFile(i), Port: i.Endpoint.Port, ServerID: i.ServerID, MostPool: s.mostPool(), NoLog: s.noLog(), PageSize: i.PageSize, Set: i.Spec.Set, Unconfined: i.Spec.Unconfined(),
		Untorn: s.untorn(), Replica: s.isReplica(), Sync: s.isReplica() && i.Spec.Replica.Sync, Remote: s.isReplica() && i.Spec.Replica.IsRemote(), Parted: i.Parted, Member: s.member,
	}
}

func initFile(i *instance.Instance) string { return filepath.Join(i.RunDir, "init.sql") }
