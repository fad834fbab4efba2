package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/load"
)

// inDirectories puts the dumps of a directory in its place, unless it is one dump by another program.
func inDirectories(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == Stdin || err != nil || !info.IsDir() {
			all = append(all, path)
			continue
		}
		one, err := dumpdir.Is(path)
		if err != nil {
			return nil, err
		}
		if one {
			all = append(all, path)
			continue
		}
		files, err := dumpfile.Dir(path)
		if err == nil {
			files, err = dumpfile.Order(files)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// findDir looks at a directory that is one dump.
func findDir(path string, info fs.FileInfo) (dumpFile, error) {
	d, err := dumpdir.Open(path, io.Discard)
	switch {
	case err != nil:
		return dumpFile{}, err
	case d == nil:
		return dumpFile{}, fmt.Errorf("open dump %s: it is a directory, and none that a dumping program writes\nhint: name the files in it", path)
	}
	return dumpFile{name: filepath.Base(path), path: path, info: info, dir: true, size: d.Bytes}, d.Close()
}

// loadDir loads a directory by another program.
func loadDir(ctx context.Context, to load.Target, path string, bar io.Writer) (dump.Summary, error) {
	d, err := dumpdir.Open(path, bar)
	if err != nil {
		return dump.Summary{}, err
	}
	sum, err := to.LoadDir(ctx, filepath.Base(path), d.Parts, d.Counts, d.Notes)
	return sum, errors.Join(err, d.Close())
}
