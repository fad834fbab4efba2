package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// MakeLast makes all last that the manifest names, and the names that lead to it. Whoever has copied, moved or downloaded an
// archive that an instance is to go on with need not have done that, and what is acknowledged from then on rests on it.
func (a *Archive) MakeLast() (err error) {
	files := append([]string{strings.TrimSuffix(archive.ManifestNew, ".new"), madeName, archive.ExtentName}, needs(a.Manifest).Files...)
	dirs := []string{".", "base", "log"}
	for _, e := range a.Manifest.Epochs {
		dir := fmt.Sprintf("log/%06d", e.Number)
		names, err := a.Disk.Names(dir)
		if err != nil {
			return fmt.Errorf("make the archive last: %w", err)
		}
		for _, name := range names {
			files = append(files, dir+"/"+name)
		}
		dirs = append(dirs, dir)
	}
	for _, name := range files {
		err = errors.Join(err, a.sync(name))
	}
	for _, dir := range dirs {
		if serr := a.Disk.SyncDir(dir); !errors.Is(serr, fs.ErrNotExist) {
			err = errors.Join(err, serr)
		}
	}
	if err = errors.Join(err, syncAbove(a.Dir)); err != nil {
		return fmt.Errorf("make the archive last: %w", err)
	}
	return nil
}

// sync makes a file last. That it is missing is found by who reads it.
func (a *Archive) sync(name string) error {
	f, err := a.Disk.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
