package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// A lab is the directory bench-NUMBER, and beside it bench-NUMBER.lock, which its process
// holds from before the directory is made until after it is gone: a lock that no process holds
// is that of a process that was killed. The file names the process.
const (
	labName = "bench-%d" // as os.CreateTemp has it
	labLock = ".lock"
	labText = "ramaria bench, process %d\n"
	// labTries is how many names are tried for a new lab.
	labTries = 100
)

// lockedDir makes the directory of a new lab.
func lockedDir(parent string) (string, *sys.FileLock, error) {
	for range labTries {
		f, err := os.CreateTemp(parent, "bench-*"+labLock)
		if err != nil {
			return "", nil, err
		}
		path := f.Name()
		if err := f.Close(); err != nil {
			return "", nil, err
		}
		lock, err := sys.TryLock(path, sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // another process takes it for what was left, and removes it
		}
		if err != nil {
			return "", nil, err
		}
		dir := strings.TrimSuffix(path, labLock)
		err = os.WriteFile(path, fmt.Appendf(nil, labText, os.Getpid()), 0o600)
		if err == nil {
			err = os.Mkdir(dir, 0o711)
		}
		if err == nil {
			return dir, lock, nil
		}
		if err := errors.Join(err, lock.UnlockRemove()); !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("no name is free in %s", parent)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeLeftovers removes the labs below parent whose processes were killed, with all that
// these had begun. It looks at no others.
func removeLeftovers(ctx context.Context, exe, parent string, h host.Host) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("find what killed benchmarks left: %w", err)
	}
	for _, e := range entries {
		var number uint32
		name, ok := strings.CutSuffix(e.Name(), labLock)
		path, dir := filepath.Join(parent, e.Name()), filepath.Join(parent, name)
		if _, err := fmt.Sscanf(name, labName, &number); !ok || err != nil || name != fmt.Sprintf(labName, number) || !isOwn(path, 0) {
			continue
		}
		lock, err := sys.TryLock(path, sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // that one runs
		}
		if err != nil {
			return fmt.Errorf("find what killed benchmarks left: %w", err)
		}
		l := &Lab{Exe: exe, Dir: dir, Home: filepath.Join(dir, "home"), Host: h, lock: lock}
		if err := l.removeLeft(ctx); err != nil {
			return fmt.Errorf("remove what a killed benchmark left: %w\nhint: ramaria volume rm --all --force --home %s; then rm -r %s %s", errors.Join(err, lock.Unlock()), l.Home, dir, path)
		}
	}
	return nil
}

// isOwn says that path is the caller's own file of a type, 0 for a regular one.
func isOwn(path string, want fs.FileMode) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != want {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// removeLeft removes a lab whose process is gone, and whose lock is held now.
func (l *Lab) removeLeft(ctx context.Context) error {
	text, err := os.ReadFile(l.Dir + labLock)
	if err != nil {
		return err
	}
	pid := 0
	if _, err := fmt.Sscanf(string(text), labText, &pid); err != nil {
		if there(l.Dir) || len(text) > 0 {
			return l.lock.Unlock() // not a lab
		}
		return l.lock.UnlockRemove() // killed before it had begun
	}
	if there(l.Dir) {
		if !isOwn(l.Dir, fs.ModeDir) {
			return l.lock.Unlock()
		}
		if err := errors.Join(runner.LiftMemoryLimits(l.Host, pid), l.unmount()); err != nil {
			return err
		}
		if err := l.remove(ctx, "--force"); err != nil {
			return err
		}
	}
	if err := runner.RemoveThrottles(l.Host, pid); err != nil {
		return err
	}
	return l.lock.UnlockRemove()
}

// unmount takes away what is mounted in the lab itself, and what is swapped to there. The volumes of its
// home are another thing.
func (l *Lab) unmount() error {
	dirs, err := l.HomeDirs()
	if err != nil {
		return err
	}
	for _, parent := range []string{l.Dir, dirs.Shm} {
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(parent, e.Name())
			if filepath.Ext(path) == swapSuffix {
				if err := sys.SwapOff(path); err != nil {
					return err
				}
			}
			m := ImageMount{Dir: path, host: l.Host}
			if err := m.lift(); err != nil {
				return err
			}
			if mounted, err := sys.Mounted(m.Dir); err != nil || !mounted {
				continue // what cannot be asked cannot be removed either, which tells
			}
			if err := m.unmount(); err != nil {
				return err
			}
		}
	}
	return nil
}
