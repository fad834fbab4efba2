package durable

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB does what DDL says, and logs it then. A snapshot may come in between. The server that starts on it finds in its
// DDL log what was at work, and takes it back, or ends it. What it ends it logs, since its log has it not: those
// statements follow in the log of the instance, and are not to be done again. What it takes back is not there, and is
// done when the log is applied; but of a partitioned table that was being made it takes back the definition alone, and
// what remake.go is about it takes back although its log has it.
//
// https://mariadb.com/kb/en/atomic-ddl/

// halfDone finds out which statements the server of a snapshot has ended, and removes what is left of others.
func (s *Snapshot) halfDone(ctx context.Context, db *sql.DB, b *archive.Base) (err error) {
	if s.Instance.Server.Flavour != server.MariaDB {
		return nil // which logs and does DDL in one transaction
	}
	if b.Ahead, err = s.ended(b.At.File); err != nil {
		return err
	}
	if err := s.redoUnended(ctx, db, b.At); err != nil {
		return err
	}
	if _, err = s.remake(ctx, db, b.At.File); err != nil {
		return err
	}
	return s.unpartitioned()
}

// unpartitioned refuses a snapshot that came while a partitioned table was put in the place of another: its server takes
// that for done, and the table has a definition, and neither a list of partitions nor any of them. Where the instance has it
// so itself, as after a kill, no other snapshot is better.
func (s *Snapshot) unpartitioned() (err error) {
	live := s.Instance.DataDir()
	if s.DataDir == live {
		return nil
	}
	of, err := withoutPartitions(s.DataDir)
	if err != nil || len(of) == 0 {
		return err
	}
	broken, err := withoutPartitions(live)
	if err != nil {
		return err
	}
	for _, stem := range of {
		if !slices.Contains(broken, stem) {
			return fmt.Errorf("table %s was altered when the snapshot was taken, and its partitions are not there\nhint: try again", stem)
		}
	}
	return nil
}

// withoutPartitions are the tables, by their files, that have partitions and no list of them.
func withoutPartitions(dir string) (stems []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	definitions, err := fs.Glob(root.FS(), "*/*.frm")
	if err != nil {
		return nil, err
	}
	for _, definition := range definitions {
		stem := strings.TrimSuffix(definition, ".frm")
		if strings.HasPrefix(path.Base(stem), "#") { // what an ALTER TABLE makes, or has left
			continue
		}
		if _, err := root.Stat(stem + partitionList); err == nil {
			continue
		}
		text, err := root.ReadFile(definition)
		if errors.Is(err, fs.ErrNotExist) { // of a server that runs
			continue
		}
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(text, []byte{0xfe, 1}) && bytes.Contains(text, []byte(" PARTITION BY ")) { // and no view
			stems = append(stems, stem)
		}
	}
	return stems, nil
}

// ended are the statements that the server of a snapshot has logged when it started: behind the last file of the instance's.
func (s *Snapshot) ended(last uint32) (list []string, err error) {
	files, err := s.logFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.number <= last {
			continue
		}
		if _, err := binlog.ScanStatements(f.path, firstEvent, func(q *binlog.Query, _ binlog.Group) error {
			list = append(list, binlog.StatementID(q))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// snapshotLog is a file of a snapshot's log.
type snapshotLog struct {
	number uint32
	path   string
}

// logFiles are the files of the log, in their order.
func (s *Snapshot) logFiles() (list []snapshotLog, err error) {
	names, err := binlog.Files(s.DataDir, server.BinlogName)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n, err := fileNumber(name)
		if err != nil {
			return nil, err
		}
		list = append(list, snapshotLog{n, filepath.Join(s.DataDir, name)})
	}
	return list, nil
}

// dropHalfMade drops the partitions of tables that have no definition.
func (s *Snapshot) dropHalfMade(ctx context.Context, db *sql.DB) (err error) {
	root, err := os.OpenRoot(s.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	stems, err := withPartitions(root.FS())
	if err != nil {
		return err
	}
	for _, stem := range stems {
		if _, err := root.Stat(stem + ".frm"); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.dropPartitions(ctx, db, root, stem); err != nil {
			return fmt.Errorf("remove a table that was being made: %w", err)
		}
	}
	return nil
}

// withPartitions are the tables, by their files, that have a list of partitions, or any of them: a server makes the list
// first, and removes it first.
func withPartitions(dir fs.FS) (stems []string, err error) {
	lists, err := fs.Glob(dir, "*/*"+partitionList)
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		stems = append(stems, strings.TrimSuffix(list, partitionList))
	}
	partitions, err := fs.Glob(dir, "*/*#[Pp]#*")
	if err != nil {
		return nil, err
	}
	for _, file := range partitions {
		stems = append(stems, file[:strings.Index(strings.ToUpper(file), partitionMark)])
	}
	slices.Sort(stems)
	return slices.Compact(stems), nil
}

// partitionMark is, in capital letters, what stands between the name of a table and that of a partition.
const partitionMark = "#P#"

// partitionList is what the name of the file ends in that lists a table's partitions.
const partitionList = ".par"

// dropPartitions drops the partitions of one table, whose files are called stem and more, below the data directory.
func (s *Snapshot) dropPartitions(ctx context.Context, db *sql.DB, root *os.Root, stem string) error {
	dir, name := path.Split(stem)
	entries, err := fs.ReadDir(root.FS(), path.Clean(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := e.Name()
		if len(file) <= len(name) || file[:len(name)] != name || !strings.HasPrefix(strings.ToUpper(file[len(name):]), partitionMark) {
			continue
		}
		if part, ok := strings.CutSuffix(file, ".ibd"); ok {
			// The prefix says that the name is that of a file, in which there is no quote. A file that the server does not know
			// stays: it is none of a table's.
			statement := "DROP TABLE IF EXISTS " + // #nosec G202 -- names are quoted
				dbconn.QuoteName(datafiles.Decode(path.Clean(dir))) + ".`#mysql50#" + part + "`"
			if err := dbconn.ExecUnlogged(ctx, db, statement); err != nil {
				return err
			}
			continue
		}
		if err := root.Remove(path.Join(dir, file)); err != nil { // of an engine that has its tables in files alone
			return err
		}
	}
	if err := root.Remove(stem + partitionList); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
