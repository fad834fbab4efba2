package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Cold is the cold store: images that were saved to disk, one file each. A file has
// its name only once it is whole and on the device.
type Cold struct {
	// Dir is the directory; "" is a store that is always empty.
	Dir string
}

// ColdIn returns the cold store of a user's places.
func ColdIn(p host.Places) Cold {
	if p.Cache == "" {
		return Cold{}
	}
	return Cold{Dir: filepath.Join(p.Cache, "images")}
}

func (c Cold) path(id string) string     { return filepath.Join(c.Dir, id+savedSuffix) }
func (c Cold) workPath(id string) string { return filepath.Join(c.Dir, ".save-"+id) }
func (c Cold) pullPath(id string) string { return filepath.Join(c.Dir, pullPrefix+id) }
func (c Cold) lockPath(id string) string { return filepath.Join(c.Dir, ".lock-"+id) }

// Saved is one saved image. Only its name and size have been looked at.
type Saved struct {
	ID, Path string
	// Size is that of the file, in bytes.
	Size int64
	// Time is when it was saved.
	Time time.Time
}

// Get returns a saved image, or ErrNotFound.
func (c Cold) Get(id string) (*Saved, error) {
	if c.Dir == "" {
		return nil, ErrNotFound
	}
	fi, err := os.Stat(c.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find saved image: %w", err)
	}
	return &Saved{ID: id, Path: c.path(id), Size: fi.Size(), Time: fi.ModTime()}, nil
}

// List returns the saved images, sorted by their ids.
func (c Cold) List() ([]*Saved, error) {
	if c.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list saved images: %w", err)
	}
	var list []*Saved
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), savedSuffix)
		if !ok || len(id) != idLength || !imageID.MatchString(id) {
			continue
		}
		s, err := c.Get(id)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Image reads what the file says of its image. What it says of the data is only
// looked at when the image is restored. The error is a *DamagedError, or of ctx.
func (v *Saved) Image(ctx context.Context) (*Image, error) {
	a, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	return a.meta()
}

// Verify reads the whole file, and returns a *DamagedError if it is cut or its content
// is not what was written: 1 GB/s.
func (v *Saved) Verify(ctx context.Context) error {
	a, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	if _, err := a.meta(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, a.zstd); err != nil {
		return a.damaged(err)
	}
	return nil
}

// Remove removes a saved image.
func (c Cold) Remove(id string) error {
	if _, err := c.Get(id); err != nil {
		return fmt.Errorf("remove saved image %s: %w\nhint: ramaria image ls", id, err)
	}
	if err := os.Remove(c.path(id)); err != nil {
		return fmt.Errorf("remove saved image: %w", err)
	}
	return nil
}

const (
	// pullPrefix begins the name of a file that is on its way from another machine.
	pullPrefix = ".pull-"
	// keepPulled is how long one that was cut off is kept, so that the next goes on with it.
	keepPulled = 24 * time.Hour
)

// Receive has fill write the file of a saved image, of so many bytes, and gives it its name when it is on the device.
// What an earlier one, that has failed, has written is in it already, which begun says. One that is saved stays as it is.
// say is called when another process has to be waited for.
func (c Cold) Receive(ctx context.Context, id string, size int64, say func(), fill func(f *os.File, begun bool) error) (_ *Saved, err error) {
	if c.Dir == "" {
		return nil, errors.New("receive image: there is no place for saved images")
	}
	lock, err := c.lock(ctx, id, say)
	if err != nil {
		return nil, fmt.Errorf("receive image: %w", err)
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if v, err := c.Get(id); !errors.Is(err, ErrNotFound) {
		return v, err
	}
	f, err := os.OpenFile(c.pullPath(id), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("receive image: %w", err)
	}
	fi, err := f.Stat()
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		err = fill(f, fi.Size() > 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		if full := c.full(err); full != nil {
			// What is there of it would keep the disk full for a day.
			return nil, errors.Join(fmt.Errorf("pull image %s: %w", id, full), os.Remove(c.pullPath(id)))
		}
		return nil, fmt.Errorf("pull image %s: %w", id, err)
	}
	if err := os.Rename(c.pullPath(id), c.path(id)); err != nil {
		return nil, err
	}
	if err := syncDir(c.Dir); err != nil {
		return nil, err
	}
	return c.Get(id)
}

// lock makes the directory, and has one process write the file of an image.
func (c Cold) lock(ctx context.Context, id string, say func()) (*sys.FileLock, error) {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711 // like the rest of root's cache, which servers pass through
	}
	if err := os.MkdirAll(c.Dir, mode); err != nil {
		return nil, err
	}
	return sys.Lock(ctx, c.lockPath(id), sys.Exclusive, say)
}

// sweepPulls removes what was left of images that nobody has asked for again.
func (c Cold) sweepPulls() error {
	left, err := sys.Glob(c.Dir, pullPrefix+"*")
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range left {
		fi, err := os.Lstat(path)
		if err != nil || time.Since(fi.ModTime()) < keepPulled {
			continue
		}
		lock, err := sys.TryLock(c.lockPath(strings.TrimPrefix(filepath.Base(path), pullPrefix)), sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // another process goes on with it
		}
		if err == nil {
			err = errors.Join(os.Remove(path), lock.UnlockRemove())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Sweep removes what killed savers left behind, and what was pulled in part a day ago.
func (c Cold) Sweep() error {
	if c.Dir == "" {
		return nil
	}
	if err := c.sweepPulls(); err != nil {
		return fmt.Errorf("sweep saved images: %w", err)
	}
	locks, err := sys.Glob(c.Dir, ".lock-*")
	if err != nil {
		return fmt.Errorf("sweep saved images: %w", err)
	}
	var errs []error
	for _, path := range locks {
		lock, err := sys.TryLock(path, sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // another process saves
		}
		if err == nil {
			work := c.workPath(strings.TrimPrefix(filepath.Base(path), ".lock-"))
			if err = os.Remove(work); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			err = errors.Join(err, lock.UnlockRemove())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep saved images: %w", err))
		}
	}
	return errors.Join(errs...)
}
