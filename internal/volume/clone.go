package volume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Trees that are being made or removed lie in the volume's directory itself under
// one of these names and a random part; a lock file of the same name and
// lockSuffix stands beside each. The kernel drops the lock with the process, so a
// lock that can be taken marks what a dead one left.
const (
	partialPrefix = ".partial-"
	trashPrefix   = ".trash-"
	lockSuffix    = ".lock"

	// lockTries is how often another random name is tried when Sweep of another
	// process took the new lock file, in the moment between its making and locking.
	lockTries = 10
)

// work is a locked temporary name.
type work struct {
	path string
	lock *sys.FileLock
}

func (d *directory) newWork(prefix string) (*work, error) {
	var err error
	for range lockTries {
		path := filepath.Join(d.dir, prefix+rand.Text())
		var lock *sys.FileLock
		if lock, err = sys.TryLock(path+lockSuffix, sys.Exclusive); err == nil {
			return &work{path, lock}, nil
		}
		if !errors.Is(err, sys.ErrLocked) {
			break
		}
	}
	return nil, err
}

// end removes what is left of the tree, and then the lock. A tree that cannot be
// removed stays for Sweep, which needs to find no lock file.
func (w *work) end() error {
	return errors.Join(sys.RemoveTree(w.path), w.lock.UnlockRemove())
}

// Clone implements Volume.
func (d *directory) Clone(ctx context.Context, src, dst string) error {
	return d.Snapshot(ctx, src, dst, How{})
}

// Snapshot implements Volume.
func (d *directory) Snapshot(ctx context.Context, src, dst string, how How) error {
	if err := d.clone(ctx, src, dst, how); err != nil {
		if isFull(err) {
			err = d.fullError(src, dst, err)
		}
		return fmt.Errorf("clone %s: %w", src, err)
	}
	return nil
}

func (d *directory) clone(ctx context.Context, src, dst string, how How) (err error) {
	rel, err := d.below(dst)
	if err != nil {
		return err
	}
	if err := d.apart(src); err != nil {
		return err
	}
	if _, err := os.Lstat(dst); err == nil {
		return &os.PathError{Op: "make clone", Path: dst, Err: os.ErrExist}
	}
	w, err := d.newWork(partialPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	if how.Freeze == nil {
		err = sys.CopyTree(ctx, src, w.path, how.Filter)
	} else {
		err = copyLive(ctx, src, w.path, how)
	}
	if err != nil {
		return err
	}
	return moveIn(w.path, d.dir, rel)
}

const (
	// liveRounds bounds the rounds in which a directory is copied while it is written
	// to, and shortRound is how short one must be for the last to be worth stopping
	// the writers for.
	liveRounds = 4
	shortRound = 20 * time.Millisecond
)

// copyLive copies a directory that is written to: beside the writers what can be, and
// all of it while they are frozen where files have several names.
func copyLive(ctx context.Context, src, dst string, how How) error {
	err := followLive(ctx, src, dst, how)
	if !errors.Is(err, sys.ErrHardLinks) {
		return err
	}
	if err := sys.RemoveTree(dst); err != nil {
		return err
	}
	return how.Freeze(func(ctx context.Context) error { return sys.CopyTree(ctx, src, dst, how.Filter) })
}

// followLive copies all of a directory beside the writers, then what they have changed
// meanwhile, and then, while they are frozen, the rest.
func followLive(ctx context.Context, src, dst string, how How) error {
	live := sys.NewLiveCopy(src, dst, how.Filter)
	for range liveRounds {
		began := time.Now()
		if err := live.Round(ctx); err != nil {
			return err
		}
		if time.Since(began) < shortRound {
			break
		}
	}
	if err := how.Freeze(live.LastRound); err != nil {
		return err
	}
	return live.Done()
}

// apart refuses a source that the copy would lie in: it would copy itself for ever.
func (d *directory) apart(src string) error {
	real, err := filepath.EvalSymlinks(src)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(in) {
		return fmt.Errorf("the volume %s lies in it", d.dir)
	}
	return nil
}

// moveIn gives the finished tree its name. Moving a directory takes the right to
// write to it, because it holds "..": where its mode denies that to its owner,
// the mode follows.
func moveIn(from, root, rel string) error {
	err := sys.MoveBeneath(from, root, rel)
	if !errors.Is(err, os.ErrPermission) {
		return err
	}
	fi, serr := os.Lstat(from)
	if serr != nil || os.Chmod(from, fi.Mode()|0o700) != nil { //nolint:forbidigo // it lies in the directory of the volume that is ours
		return err
	}
	if err := sys.MoveBeneath(from, root, rel); err != nil {
		return err
	}
	return os.Chmod(filepath.Join(root, rel), fi.Mode()) //nolint:forbidigo // as the caller, whose it is
}

// below returns path relative to the volume, or an error if it is not below it or
// is one of the volume's own temporary names.
func (d *directory) below(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path", path)
	}
	rel, err := filepath.Rel(d.dir, path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s does not lie below the volume %s", path, d.dir)
	}
	if strings.HasPrefix(rel, partialPrefix) || strings.HasPrefix(rel, trashPrefix) {
		return "", fmt.Errorf("%s is a temporary name of the volume", path)
	}
	return rel, nil
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.ENOMEM)
}
