package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// walkDataDir calls file for each regular file and directory below dir that
// belongs into an image, with its path relative to dir. What a server recreates
// is left out: sockets, pid files, temporary tablespaces, binary and relay logs,
// and what would make a copied replica replicate. A file that lies elsewhere
// (symbolic links, DATA DIRECTORY) is an error: a server on the copy would write
// to the original.
func walkDataDir(dir string, file func(rel string, d fs.DirEntry) error) error {
	logs, err := server.LogFiles(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read data directory: %w\nhint: ramaria needs to read all of it; run as its owner or as root", err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return fmt.Errorf("read data directory: %w", err)
		}
		switch {
		case path == dir:
			return nil
		case server.LeadsOut(rel, d.Type()):
			return fmt.Errorf("copy data directory %s: %s leads to a file elsewhere, which a server on the copy would write to\nhint: dump it instead, with %s --all-databases --routines --events", dir, rel, server.DumperFor(dir))
		case d.IsDir():
			return file(rel, d)
		case !d.Type().IsRegular():
			return nil
		case notInImage(logs, rel):
			return nil
		}
		return file(rel, d)
	})
}

// notInImage reports whether a regular file, by its path relative to the data directory, is made
// again by each server, or is one of its logs.
func notInImage(logs map[string]bool, rel string) bool {
	return server.Transient(rel) || logs[rel]
}

// hashDataDir returns a hash of names and contents of a data directory.
func hashDataDir(ctx context.Context, m memo.Store, dir string) (string, error) {
	h := sha256.New()
	err := walkDataDir(dir, func(rel string, d fs.DirEntry) error {
		if d.IsDir() {
			fmt.Fprintf(h, "dir %q\n", rel)
			return nil
		}
		sum, err := hashFile(ctx, m, filepath.Join(dir, rel))
		if errors.Is(err, memo.ErrChanged) {
			return runningError(dir, "its files change")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "file %q %s\n", rel, sum)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func runningError(dir, why string) error {
	return fmt.Errorf("copy data directory %s: a server is running on it (%s)\nhint: stop that server first, or dump it: %s --all-databases --routines --events > all.sql", dir, why, server.DumperFor(dir))
}

// checkStopped refuses a data directory that a server has open.
func checkStopped(dir string) error {
	for _, name := range server.OpenFiles() {
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
			return irregularError(path, fi.Mode())
		}
		pid, held, err := sys.RecordLocked(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy data directory: %w", err)
		}
		if held {
			return runningError(dir, fmt.Sprintf("process %d has %s locked", pid, name))
		}
	}
	return nil
}
