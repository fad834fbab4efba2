package software

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// NoRoomError says that the cache's file system is too full to fetch a server.
type NoRoomError struct {
	Dir  string
	Need int64 // bytes; 0 if that was not known
	Free int64 // bytes, for this user
}

func (e *NoRoomError) Error() string {
	need := "more than that is needed"
	if e.Need > 0 {
		need = megabytes(e.Need) + " are needed"
	}
	return fmt.Sprintf("disk full: %s has %s free, %s\nhint: free some space there, or put the cache elsewhere with --home DIR",
		e.Dir, megabytes(e.Free), need)
}

// checkRoom returns a NoRoomError if need bytes do not fit below dir. A file system
// that cannot be asked is let pass: writing will tell.
func checkRoom(dir string, need int64) error {
	if free, ok := freeBytes(dir); ok && free < need {
		return &NoRoomError{Dir: dir, Need: need, Free: free}
	}
	return nil
}

// roomOr turns the error of a full disk, or of a quota that is used up, into a
// NoRoomError and returns others as they are.
func roomOr(err error, dir string, need int64) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		free, _ := freeBytes(dir)
		return &NoRoomError{Dir: dir, Need: need, Free: free}
	}
	return err
}

// freeBytes returns what this user may still write below dir, in bytes; ok is false
// when the file system cannot be asked.
func freeBytes(dir string) (free int64, ok bool) {
	fsys, err := sys.Statfs(dir)
	return fsys.Avail, err == nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// makeOpenDir makes dir and what is missing above it so that everybody may pass
// through, whatever the umask: the account of a server that root starts has to.
func makeOpenDir(dir string) error {
	if fi, err := os.Stat(dir); err == nil {
		if !fi.IsDir() {
			return fmt.Errorf("make %s: %w", dir, syscall.ENOTDIR)
		}
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeOpenDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	} else if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755) //nolint:forbidigo // made just now
}

// syncDirs makes the names below dir last; the files were synced when written.
func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(path)
	})
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
