package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// mostLog is the size, in bytes, from which on the log of a running server is put aside. It takes
// memory as the data does, and grows without an end: MariaDB writes a dozen lines and more for
// each table that is cloned.
const mostLog = 16 << 20

// putLogAside has the server's log begin anew once it is large, as a start does; what the server
// writes between the copy and that is lost. It appends, and so goes on at the beginning.
func (w *watch) putLogAside(ctx context.Context) error {
	path := w.inst.LogPath()
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the server's log: %w", err)
	}
	if fi.Size() < mostLog {
		return nil
	}
	old := path + oldSuffix
	if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old log: %w", err)
	}
	if err := sys.CopyFile(ctx, path, old); err != nil {
		return errors.Join(err, os.Remove(old))
	}
	if err := os.Truncate(path, 0); err != nil {
		return fmt.Errorf("begin the server's log anew: %w", err)
	}
	return nil
}

// oldSuffix is that of a log that was put aside.
const oldSuffix = ".old"
