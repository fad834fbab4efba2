package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// newSuffix is of a page that is being written. node_exporter reads files that end in .prom.
const newSuffix = ".new"

// WriteFile puts a page in place of the file at path, at once. Everybody may read it, as node_exporter must.
func (e *Exporter) WriteFile(ctx context.Context, path string) (err error) {
	failed := func(err error) error { return fmt.Errorf("write %s: %w", path, err) }
	f, err := os.OpenFile(path+newSuffix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644) // for others to read: no secret is in it
	if err != nil {
		return failed(err)
	}
	err = errors.Join(e.Write(ctx, f, false), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+newSuffix, path)
	}
	if err != nil {
		return failed(errors.Join(err, os.Remove(path+newSuffix)))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return failed(err)
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return failed(err)
	}
	return nil
}
