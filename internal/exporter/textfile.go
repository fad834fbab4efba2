package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// newPattern is of a page that is being written. node_exporter reads files that end in .prom.
const newPattern = ".*.new"

// WriteFile puts a page in place of the file at path, at once. Everybody may read it, as node_exporter must.
// Others may write to the directory, as to /tmp: the page is written to a file of a new name, which leads nowhere.
func (e *Exporter) WriteFile(ctx context.Context, path string) (err error) {
	dir, name := filepath.Split(path)
	dir = filepath.Clean(dir)
	failed := func(err error) error { return fmt.Errorf("write %s: %w", path, err) }
	f, err := os.CreateTemp(dir, name+newPattern)
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		err = p.Err // without a name that is another each time
	}
	if err != nil {
		return failed(err)
	}
	err = errors.Join(e.Write(ctx, f, false), f.Chmod(0o644), f.Sync()) // for others to read: no secret is in it
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return failed(errors.Join(err, os.Remove(f.Name())))
	}
	d, err := os.Open(dir)
	if err != nil {
		return failed(err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return failed(err)
	}
	return nil
}
