package basebackup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Restore writes the files of a base below dir, which must be an empty directory, with their modes and
// times; holes and pages of zeros come back as holes. They belong to the caller, and are not synced.
// progress, which may be nil, gets the bytes that were restored so far, of Index.Size. What is not as it
// was written is an *archive.DamagedError, by checksums and without the hashes that Check compares; after an error dir holds a part.
func Restore(ctx context.Context, d archive.Disk, x *Index, dir string, progress func(done int64)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore base %d: %w", x.id, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := mustBeEmpty(root); err != nil {
		return err
	}
	if err := x.makeFiles(ctx, root); err != nil {
		return err
	}
	if err := x.read(ctx, d, progress, false, func() sink { return &files{root: root} }); err != nil {
		return err
	}
	return x.finishFiles(ctx, root)
}

func mustBeEmpty(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	if len(names) > 0 {
		return fmt.Errorf("%s is not empty: %s is in it", root.Name(), names[0])
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// makeFiles makes directories, and files that are one hole.
func (x *Index) makeFiles(ctx context.Context, root *os.Root) error {
	for i := range x.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := &x.entries[i]
		if e.dir {
			if err := root.Mkdir(e.path, 0o700); err != nil {
				return err
			}
			continue
		}
		f, err := root.OpenFile(e.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Truncate(e.size), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// finishFiles sets modes and times, of what is in a directory before its own.
func (x *Index) finishFiles(ctx context.Context, root *os.Root) error {
	for i := len(x.entries) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := &x.entries[i]
		at := time.Unix(0, e.mtime)
		if err := errors.Join(root.Chtimes(e.path, at, at), root.Chmod(e.path, e.mode)); err != nil {
			return err
		}
	}
	return nil
}

// files writes pages to files. It keeps the last one open: the pages of a file follow each other.
type files struct {
	root *os.Root
	of   *entry
	file *os.File
}

func (f *files) take(e *entry, b []byte, page int64) error {
	if f.of != e {
		if err := f.close(); err != nil {
			return err
		}
		file, err := f.root.OpenFile(e.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		f.of, f.file = e, file
	}
	_, err := f.file.WriteAt(b, page*PageSize)
	return err
}

func (f *files) close() error {
	file := f.file
	f.of, f.file = nil, nil
	if file == nil {
		return nil
	}
	if err := file.Close(); err != nil {
		return &fs.PathError{Op: "close", Path: file.Name(), Err: err}
	}
	return nil
}
