package durable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Snapshot is a copy of a running instance's data directory, its log included, from which a base
// backup is to be made.
type Snapshot struct {
	Instance *instance.Instance
	// DataDir is the copy. Dir is a directory of the caller's that takes what a server needs beside it,
	// RunDir where its socket is, and TmpDir the server's tmpdir.
	DataDir, Dir, RunDir, TmpDir string
	// Volume is the kind of volume that it lies in.
	Volume string
	// Keys is the directory of keys that all servers of the user share.
	Keys string
	// Fence is the first statement that waits for the base, nil for none.
	Fence *archive.Position
	// Archive is the directory of the archive that the instance has, "" before it has one.
	Archive string
	// Database is made if it is not there, unless it is "".
	Database string
	// Level is by what the server writes its log, which is to be that of the instance where that stays; "" is InRAM.
	Level server.Durability
}

// Prove starts a server on the snapshot, which rolls forward what its log has, checks it, and shuts it
// down cleanly. What is left is a base, of which At, GTIDState, Outside and BesideLog are returned.
func (s *Snapshot) Prove(ctx context.Context) (b archive.Base, err error) {
	if b.At, b.GTIDState, err = s.end(); err != nil {
		return b, fmt.Errorf("prove snapshot: %w", err)
	}
	if err := s.prove(ctx, &b); err != nil {
		return b, fmt.Errorf("prove snapshot: %w", err)
	}
	return b, nil
}

// prove fills in what only a server knows of a base.
func (s *Snapshot) prove(ctx context.Context, b *archive.Base) error {
	mixed, err := confused(s.Instance, s.DataDir)
	if err != nil {
		return err
	}
	if mixed {
		if err := s.unmix(); err != nil {
			return err
		}
	}
	r, err := s.start(ctx, mixed)
	if err != nil {
		return err
	}
	defer r.close()
	if mixed {
		if err := r.unconfused(); err != nil {
			return err
		}
	}
	if err := s.halfDone(ctx, r.db, b); err != nil {
		return err
	}
	if err := s.settle(ctx, r, b); err != nil {
		return err
	}
	if b.Outside, b.BesideLog, err = askOutside(ctx, r.db, s.Instance.Server.Flavour, s.DataDir); err != nil {
		return err
	}
	return r.stop(ctx)
}

// running is a server on a snapshot.
type running struct {
	process *server.Process
	db      *sql.DB
	// log is what it writes, from an offset on.
	log  *os.File
	from int64
}

// stop shuts it down cleanly.
func (r *running) stop(ctx context.Context) error { return r.process.Stop(ctx) }

// close ends it, if it still runs.
func (r *running) close() {
	_ = r.db.Close()
	r.process.Kill()
	_ = r.log.Close()
}

// ErrNoLog says that a data directory has no binary log.
var ErrNoLog = errors.New("it has no binary log")

// LogState is the state of MariaDB's GTIDs at the end of the log of a data directory whose server does not run, or ErrNoLog.
func LogState(dir string) (string, error) {
	_, gtids, err := logEnd(dir)
	return gtids, err
}

// logEnd is where the last whole transaction ends in the log of a data directory, and what the state of
// MariaDB's GTIDs is there.
func logEnd(dir string) (at archive.Position, gtids string, err error) {
	files, err := binlog.Files(dir, server.BinlogName)
	if err != nil || len(files) == 0 {
		return at, "", errors.Join(err, ErrNoLog)
	}
	last := files[len(files)-1]
	x, err := binlog.Scan(filepath.Join(dir, last), 4, nil)
	if err != nil {
		return at, "", err
	}
	n, err := fileNumber(last)
	return archive.Position{File: n, Offset: x.End}, x.GTIDs.String(), err
}

func fileNumber(name string) (n uint32, err error) {
	_, err = fmt.Sscanf(name, server.BinlogName+".%d", &n)
	return n, err
}

// start starts a server that only this process reaches. What an event did there would be in the data and in no log, and the
// log that follows has what it did where it belongs. talks says that MySQL is to say all that it does when it starts.
func (s *Snapshot) start(ctx context.Context, talks bool) (_ *running, err error) {
	i := s.Instance
	if err := server.MakeDirs(i.Account, s.RunDir, s.TmpDir); err != nil {
		return nil, err
	}
	for _, name := range i.Server.ScratchDirs() {
		if err := server.MakeDirs(i.Account, filepath.Join(s.TmpDir, name)); err != nil {
			return nil, err
		}
	}
	init := filepath.Join(s.RunDir, "init.sql")
	level, _ := i.Spec.Durability() // its application's account has no more rights than there
	sql := i.Server.DialectOf(level).InitSQL(i.Supervisor, i.Endpoint.Login, s.Database, false)
	if err := server.WritePrivate(init, []byte(sql), i.Account); err != nil {
		return nil, err
	}
	set := server.WithoutEvents(i.Spec.Set)
	if talks {
		set = server.Talkative(set)
	}
	c := server.Config{
		Stage: server.Run, Durability: s.Level, Volume: s.Volume, DataDir: s.DataDir, RunDir: s.RunDir, TmpDir: s.TmpDir, InitFile: init, ServerID: i.ServerID,
		PageSize: i.PageSize, Set: set, Unconfined: i.Spec.Unconfined(), Member: apart(i),
	}
	text, err := i.Server.Render(c)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.RunDir, "my.cnf")
	if err := server.WritePrivate(config, []byte(text), i.Account); err != nil {
		return nil, err
	}
	logPath := filepath.Join(s.Dir, "server.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = log.Close()
		}
	}()
	if err := i.Server.WriteKeys(s.Keys, s.RunDir, i.Account); err != nil {
		return nil, err
	}
	db, err := dbconn.Open(server.SocketPath(s.RunDir), i.Supervisor, "")
	if err != nil {
		return nil, err
	}
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	p, err := i.Server.Start(config, c, i.Account, s.Dir, log, server.Unsynced)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r := &running{process: p, db: db, log: log, from: from}
	if err := p.Ready(ctx, db, server.SocketPath(s.RunDir), logPath); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// apart has the server of a member's copy be one, and reach no other.
func apart(i *instance.Instance) *server.Member {
	if i.Spec.Cluster == "" {
		return nil
	}
	return &server.Member{Apart: true}
}

// outsideOf lists tables whose engine does not roll back: what a killed server had done to them may be
// half done. After them it lists what bySession finds.
func outsideOf(ctx context.Context, db *sql.DB, flavour server.Flavour) (list []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') FROM information_schema.tables
		WHERE table_type = 'BASE TABLE' AND engine NOT IN ('InnoDB') AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	more, err := bySession(ctx, db, flavour)
	return append(list, more...), err
}

// Base writes a proven snapshot into the archive as a base, of which the manifest does not know yet: pages that
// the base before has are not written again, unless that is damaged. It is called by another process than the one
// that holds the archive.
func (s *Snapshot) Base(ctx context.Context, dir string, o BaseOrder) (archive.Base, error) {
	d := paced{archive.OSDisk{Dir: dir}}
	before, err := indexOf(d, o.Archive, o.Prev)
	if err != nil {
		return archive.Base{}, err
	}
	x, w, err := basebackup.Write(ctx, d, o.Archive, o.Number, s.DataDir, before, leaveOut)
	if err != nil {
		return archive.Base{}, err
	}
	return archive.Base{ID: o.Number, Size: x.Size(), Stored: w.Bytes, Packs: x.Packs()}, nil
}

// indexOf is the index of the base that the next one takes pages from; nil where it takes none.
func indexOf(d archive.Disk, id archive.ID, base uint32) (*basebackup.Index, error) {
	if base == 0 {
		return nil, nil
	}
	x, err := basebackup.ReadIndex(d, id, base)
	if err == nil {
		err = x.HasPacks(d)
	}
	var damaged *archive.DamagedError
	switch {
	case errors.As(err, &damaged): // what rests on it would be as damaged, and without another base all would be
		return nil, nil
	case err != nil:
		return nil, err
	case x.Worn():
		return nil, nil
	}
	return x, nil
}
