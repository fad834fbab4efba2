package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Nested refuses a directory for a new archive that lies in another archive, or that another one lies in: what copies,
// moves or removes the outer one does the same to the inner one.
func Nested(dir string) error {
	dir, err := unlinked(dir)
	if err != nil {
		return err
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if isArchive(up) {
			return fmt.Errorf("keep an archive in %s: it lies in the archive %s\nhint: --archive DIR, a directory beside that", dir, up)
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if inner := archiveIn(dir, nestedDepth); inner != "" && !isArchive(dir) {
		return fmt.Errorf("keep an archive in %s: the archive %s lies in it\nhint: --archive DIR, a directory beside that", dir, inner)
	}
	return nil
}

// unlinked is a path without symbolic links, as far as it is there.
func unlinked(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for up := dir; up != filepath.Dir(up); up = filepath.Dir(up) {
		if there, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(there, dir[len(up):]), nil
		}
	}
	return dir, nil
}

// isArchive reports whether a directory surely holds an archive, of whatever format.
func isArchive(dir string) bool {
	_, err := archive.ReadManifest(archive.OSDisk{Dir: dir, ReadOnly: true})
	var format *archive.FormatError
	return err == nil || errors.As(err, &format)
}

// nestedDepth is how deep in a directory other archives are looked for.
const nestedDepth = 2

// archiveIn is an archive in a directory, "" if there is none.
func archiveIn(dir string, depth int) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "" // whoever makes something in it says so
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			continue
		}
		if isArchive(path) {
			return path
		}
		if depth > 1 {
			if inner := archiveIn(path, depth-1); inner != "" {
				return inner
			}
		}
	}
	return ""
}
