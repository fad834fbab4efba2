package volume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Remove implements Volume. Once ctx has ended nothing is begun, but a removal that
// has begun is carried through: it frees memory, and takes milliseconds.
func (d *directory) Remove(ctx context.Context, path string) error {
	if err := d.remove(ctx, path); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

func (d *directory) remove(ctx context.Context, path string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	rel, err := d.below(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(d.dir); errors.Is(err, os.ErrNotExist) {
		return nil // the whole volume is not there
	}
	w, err := d.newWork(trashPrefix)
	if isFull(err) {
		// No room even for an empty lock file: removing is the cure, so it goes
		// without. At worst Sweep of another process helps with it.
		w, err = &work{path: filepath.Join(d.dir, trashPrefix+rand.Text())}, nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	if err := sys.MoveFromBeneath(d.dir, rel, w.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep implements Volume.
func (d *directory) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("sweep volume: %w", err)
	}
	var errs []error
	seen := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), lockSuffix)
		if seen[name] || (!strings.HasPrefix(name, partialPrefix) && !strings.HasPrefix(name, trashPrefix)) {
			continue
		}
		seen[name] = true
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		path := filepath.Join(d.dir, name)
		lock, err := sys.TryLock(path+lockSuffix, sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // its maker lives
		}
		if err == nil {
			err = (&work{path, lock}).end()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep volume: %w", err))
		}
	}
	return errors.Join(errs...)
}
