package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// draft is a file that is being written beside its place: it has its name from keep on, and
// what was there before stays until then.
type draft struct {
	path string
	f    *os.File // nil once it is kept or dropped
	// direct says that there is something else than a file, such as a pipe, which is written to
	// as it is.
	direct bool
}

// newDraft begins a file; a new one gets the permissions of mode.
func newDraft(path string, mode fs.FileMode) (*draft, error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	d := &draft{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		d.direct = true
		d.f, err = os.OpenFile(path, os.O_WRONLY, 0)
		return d, err
	case err == nil:
		mode = info.Mode().Perm()
	}
	if d.f, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*"); err != nil {
		return nil, err
	}
	if err := d.f.Chmod(mode); err != nil {
		return nil, errors.Join(err, d.drop())
	}
	return d, nil
}

// partly is the name of the file until it is kept, "" if it has its own already.
func (d *draft) partly() string {
	if d.direct {
		return ""
	}
	return d.f.Name()
}

// keep makes the file appear under its name.
func (d *draft) keep() error {
	if d.direct {
		return d.drop()
	}
	err := d.f.Sync()
	if err == nil {
		err = os.Rename(d.f.Name(), d.path)
	}
	if err != nil {
		return errors.Join(err, d.drop())
	}
	err = d.f.Close()
	d.f = nil
	return err
}

// leave leaves what was written under the name that it has until it is kept.
func (d *draft) leave() error {
	f := d.f
	d.f = nil
	return f.Close()
}

// drop removes a file that was not kept. It may be called more than once, and after keep.
func (d *draft) drop() error {
	if d == nil || d.f == nil {
		return nil
	}
	f := d.f
	d.f = nil
	err := f.Close()
	if !d.direct {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
