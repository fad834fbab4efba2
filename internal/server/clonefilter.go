package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// MoveFilter is what a move of a data directory leaves out: what is of sessions and of the process, but nothing of what
// the server is, as its UUID and what it knows of its replication. External data is ErrExternalTable, as with CloneFilter.
func MoveFilter(rel string, kind fs.FileMode) (skip bool, err error) {
	if _, err := CloneFilter(rel, kind); err != nil {
		return false, err
	}
	dir, name := filepath.Split(rel)
	return kind.IsRegular() && (dir == "#innodb_temp/" || dir == "#innodb_redo/" && strings.HasSuffix(name, "_tmp") || sys.IsUnfinished(name) ||
		dir == "" && (strings.HasPrefix(name, "ibtmp") || strings.HasSuffix(name, ".pid") || strings.HasSuffix(name, ".err"))), nil
}

// Transient reports whether a file, by its path below a data directory, is recreated by
// each server, or only meaningful where it was: a clone does without.
func Transient(rel string) bool {
	dir, name := filepath.Split(rel)
	switch {
	case dir == "#innodb_temp/", dir == "#innodb_redo/" && strings.HasSuffix(name, "_tmp"):
		return true // of sessions; files of the redo log that are not in use yet
	case sys.IsUnfinished(name):
		return true
	case dir != "":
		return false
	}
	switch name {
	case "ib_buffer_pool", "auto.cnf", "master.info", "relay-log.info", "multi-master.info", "tc.log",
		"galera.cache", "grastate.dat", "gvwstate.dat": // of a member of a cluster
		return true
	}
	if strings.HasSuffix(name, ".pem") { // MySQL's keys: secrets, and each start has its own
		return true
	}
	return strings.HasPrefix(name, "ibtmp") || strings.HasSuffix(name, ".pid") || strings.HasSuffix(name, ".err") ||
		strings.HasPrefix(name, RelayName) || strings.HasPrefix(name, "gcache.page.") || strings.HasPrefix(name, "master-") && strings.HasSuffix(name, ".info")
}

// IsLog reports whether a file, by its path below a data directory, belongs to the binary log.
func IsLog(rel string) bool { return strings.HasPrefix(rel, BinlogName+".") }

// LogDecides reports whether a killed server's binary log has to be there when it recovers:
// else it rolls back, without a word, what it had acknowledged a moment before.
func (s *Server) LogDecides() bool { return s.Family().logDecides }

// Spare reports whether a file, by its path below a data directory that was shut down
// cleanly, is one that no server needs; fresh says that Bootstrap made it.
func (s *Server) Spare(rel string, fresh bool) bool {
	patterns := s.Family().shut
	if fresh {
		patterns = slices.Concat(patterns, s.Family().spare)
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := filepath.Match(pattern, rel)
		return ok && err == nil
	})
}

// ErrExternalTable says that a data directory leads out of itself.
var ErrExternalTable = errors.New("a table's data lies elsewhere (DATA DIRECTORY), where a copy would share it")

// LeadsOut reports whether an entry of a data directory, of whatever origin, has a server read and write a file
// elsewhere: a symbolic link, or the file by which InnoDB notes where a table lies.
func LeadsOut(rel string, kind fs.FileMode) bool {
	return kind&fs.ModeSymlink != 0 || kind.IsRegular() && strings.HasSuffix(rel, ".isl")
}

// CloneFilter is what clones of a data directory leave out: Transient files. A directory
// with data elsewhere, by a symbolic link or an .isl file, is ErrExternalTable.
func CloneFilter(rel string, kind fs.FileMode) (skip bool, err error) {
	if LeadsOut(rel, kind) {
		return false, fmt.Errorf("copy %s: %w\nhint: dump that table, drop it, and load it again without DATA DIRECTORY", rel, ErrExternalTable)
	}
	return kind.IsRegular() && Transient(rel), nil
}
