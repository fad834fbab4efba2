package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process (or another descriptor of this one) holds the lock.
var ErrLocked = errors.New("locked by another process")

// lockPoll is the pause between two tries of a waiting Lock: flock(2) cannot be
// interrupted by a context, so waiting is polling.
const lockPoll = 5 * time.Millisecond

const (
	// probePatience is how long TryLock takes shared holders for probes of Held,
	// which are gone in no time.
	probePatience = 200 * time.Millisecond
	// probePause is the pause between two tries meanwhile.
	probePause = time.Millisecond
)

// LockMode is how a lock is held.
type LockMode int

// The two modes of flock(2).
const (
	Shared    LockMode = unix.LOCK_SH
	Exclusive LockMode = unix.LOCK_EX
)

// FileLock is an advisory flock(2) lock on a file. The kernel drops it when the
// process dies, however it dies: that is what tells a live owner from a stale one.
type FileLock struct{ f *os.File }

// TryLock takes the lock on path, which is created with mode 0600 if absent, or
// returns ErrLocked: at once if it is held exclusively, after probePatience if an
// exclusive lock is wanted and others share it, since each of them may be a probe
// of Held. The descriptor is close-on-exec.
func TryLock(path string, mode LockMode) (*FileLock, error) {
	return tryLock(path, mode, probePatience)
}

func tryLock(path string, mode LockMode, patience time.Duration) (*FileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), int(mode)|unix.LOCK_NB)
	for end := time.Now().Add(patience); errors.Is(err, unix.EWOULDBLOCK) && mode == Exclusive && time.Now().Before(end) && shared(f); {
		time.Sleep(probePause)
		err = unix.Flock(int(f.Fd()), int(mode)|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The last holder of the lock may have removed the file: a lock on a file
	// that has lost its name excludes no other process.
	var mine, named unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &mine); err != nil {
		f.Close()
		return nil, fmt.Errorf("stat lock %s: %w", path, err)
	}
	if err := unix.Stat(path, &named); err != nil || mine.Ino != named.Ino || mine.Dev != named.Dev {
		f.Close()
		return nil, ErrLocked
	}
	return &FileLock{f: f}, nil
}

// shared reports whether no process holds the lock on f exclusively. It probes as Held
// does, and lets go at once.
func shared(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil && unix.Flock(int(f.Fd()), unix.LOCK_UN) == nil
}

// Lock takes the lock on path and waits for it until ctx ends. waiting, if not
// nil, is called once when the lock is found taken.
func Lock(ctx context.Context, path string, mode LockMode, waiting func()) (*FileLock, error) {
	for {
		l, err := tryLock(path, mode, 0) // its own patience is longer
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// Held reports whether some process holds the lock on path exclusively. A file
// that does not exist is not held. To look is to share the lock for a moment, which
// TryLock and Lock bear with.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock: %w", err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("test lock %s: %w", path, err)
	}
	return false, nil
}

// Named reports whether the file that is locked is still the one of that name.
func (l *FileLock) Named() bool {
	var mine, named unix.Stat_t
	return unix.Fstat(int(l.f.Fd()), &mine) == nil && unix.Stat(l.f.Name(), &named) == nil && mine.Ino == named.Ino && mine.Dev == named.Dev
}

// Unlock lets go of the lock. It may be called more than once and on nil.
func (l *FileLock) Unlock() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// UnlockRemove removes the file and then lets go of the lock, so that no process can
// take a lock on the old file and believe it to be the new one.
func (l *FileLock) UnlockRemove() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := os.Remove(l.f.Name())
	return errors.Join(err, l.Unlock())
}
