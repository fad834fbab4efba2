package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// SyncTree puts all regular files and directories of a tree on the disk. It waits for these alone, where SyncFS waits for
// whatever else lies on the file system.
func SyncTree(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a server can put a FIFO there, which waits for a writer
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// SyncDir puts the names in a directory on the disk.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
