package basebackup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// walk goes through a directory, by name, and calls visit for each file and directory, each directory
// before what is in it. A file is open for visit alone. Anything else than files and directories is an
// error, sys.ErrNotPlain.
type walk struct {
	skip  func(rel string) bool // nil: nothing
	visit func(ctx context.Context, e entry, f *os.File) error
}

func (w walk) run(ctx context.Context, top string) (err error) {
	d, err := sys.OpenDir(top)
	if err != nil {
		return err
	}
	defer d.CloseWith(&err)
	return w.dir(ctx, d, "")
}

func (w walk) dir(ctx context.Context, d *sys.Dir, rel string) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := path.Join(rel, name)
		if w.skip != nil && w.skip(at) {
			continue
		}
		if err := w.name(ctx, d, name, at); err != nil {
			return err
		}
	}
	return nil
}

func (w walk) name(ctx context.Context, d *sys.Dir, name, at string) (err error) {
	sub, err := d.Dir(name)
	if errors.Is(err, sys.ErrNotPlain) {
		return w.file(ctx, d, name, at)
	}
	if err != nil {
		return err
	}
	defer sub.CloseWith(&err)
	e := entry{path: at, dir: true}
	if e.mode, err = sub.Mode(); err != nil {
		return err
	}
	if e.mtime, err = sub.Modified(); err != nil {
		return err
	}
	if err := w.visit(ctx, e, nil); err != nil {
		return err
	}
	return w.dir(ctx, sub, at)
}

func (w walk) file(ctx context.Context, d *sys.Dir, name, at string) error {
	f, err := d.Open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	sys.Direct(f)
	was, err := f.Stat()
	if err != nil {
		return err
	}
	e := entry{path: at, mode: was.Mode().Perm(), mtime: was.ModTime().UnixNano(), size: was.Size()}
	if err := w.visit(ctx, e, f); err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) {
		return fmt.Errorf("read %s: it was written to meanwhile", f.Name())
	}
	return nil
}
