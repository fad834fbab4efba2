// Package backups says what a backup is: its kind, what made it and when, which server it needs, and how it becomes a
// data directory or a dump that a server takes. It only reads backups. That they are restored, and what is checked then, is
// not its concern.
package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// ErrNone says that there is no backup where one was named.
var ErrNone = errors.New("there is no such backup")

// RefusedError says that a backup, or what was asked for with it, can be told to be of no use before anything is done.
type RefusedError struct{ error }

func (e RefusedError) Unwrap() error { return e.error }

// Kinds of backups, as reports have them.
const (
	Dump          = "dump"
	Dumps         = "directory of dumps"
	DataDir       = "data directory"
	MariaDBBackup = "mariadb-backup"
	XtraBackup    = "xtrabackup"
	Stream        = "stream of a physical backup" // one that cannot be read to the end
)

// Backup is a backup as far as it says so itself.
type Backup struct {
	// Name is what it is called, and Path where it is.
	Name, Path string
	Kind       string
	// Made is the server that it is of; its Flavour is "" if that is not told.
	Made server.Maker
	// Database is where a dump goes that names no database.
	Database string
	// Changed is when what it holds last changed, at the latest, and ChangedBy what says so; zero if nothing does.
	Changed   time.Time
	ChangedBy string
	// Modified is when its file was written.
	Modified time.Time
	// likely is the flavour of the program that wrote it, where it does not name its server: those of each read from the other.
	likely server.Flavour
	// Physical is nil but for backups by MariaDBBackup and XtraBackup.
	Physical *Physical
}

// What says when a backup last changed, as reports have it.
const (
	ByDumper = "the dump's last line"
	ByFile   = "the time of the file"
	byFiles  = "the newest of its data files"
	byBackup = "the end of the backup"
)

// Open finds out what lies at a path, and reads what it says of itself. Errors match ErrNone, are a RefusedError, or an
// image.UnfitError for a backup that is damaged.
func Open(ctx context.Context, name, path string) (*Backup, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("verify %s: %w\nhint: it is a dump, a directory, - for stdin, s3://BUCKET/PREFIX, or the name of a durable instance", name, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if !fi.IsDir() && !fi.Mode().IsRegular() {
		return nil, RefusedError{fmt.Errorf("verify %s: it is neither a file nor a directory\nhint: what comes through a pipe is read from stdin: ... | ramaria verify -", name)}
	}
	b := &Backup{Name: name, Modified: fi.ModTime()}
	if b.Path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("verify %s: %w", name, err)
	}
	switch {
	case !fi.IsDir():
		err = b.lookAtFile(ctx)
	case isPhysical(b.Path):
		err = b.lookAtPhysical()
	case server.LooksLikeDataDir(b.Path):
		b.Kind, b.Made = DataDir, server.MakerOf(b.Path)
		b.Changed, b.ChangedBy = newestOf(b.Path), byFiles
	default:
		b.Kind = Dumps
		err = b.lookAtDumps()
	}
	return b, err
}

// Loaded reports whether a server restores the backup by executing statements.
func (b *Backup) Loaded() bool { return b.Kind == Dump || b.Kind == Dumps }

// newestOf is when the newest file of a data directory was written.
func newestOf(dir string) (newest time.Time) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // copying it says what is wrong
		}
		if fi, err := d.Info(); err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
		return nil
	})
	return newest
}
