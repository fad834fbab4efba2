package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is a directory that something may be mounted on, held by its parent directory: what is unmounted is what was
// looked at, whatever is renamed on the way there meanwhile.
type Place struct {
	parent     int
	path, name string
}

// OpenPlace opens the place at path. The last part of it is not followed if it is a link. A path that does not exist is no
// error until it is used.
func OpenPlace(path string) (*Place, error) {
	parent, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	return &Place{parent, path, filepath.Base(path)}, nil
}

// Close forgets it. It may be called more than once.
func (p *Place) Close() error {
	if p.parent < 0 {
		return nil
	}
	err := unix.Close(p.parent)
	p.parent = -1
	return err
}

// Source is what is mounted there, such as a device, "" if nothing is. It asks no file system, which may be dead.
func (p *Place) Source() (string, error) {
	there, err := unix.Openat(p.parent, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", &os.PathError{Op: "open", Path: p.path, Err: err}
	}
	defer unix.Close(there)
	id, err := mountID(there)
	if err != nil {
		return "", err
	}
	if around, err := mountID(p.parent); err != nil || id == around { // the parent's own file system
		return "", err
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		on, rest, _ := strings.Cut(line, " - ")
		if f, g := strings.Fields(on), strings.Fields(rest); len(f) > 0 && len(g) > 1 && f[0] == id {
			return g[1], nil
		}
	}
	return "", nil // unmounted meanwhile
}

// mountID is the number, in the list of mounts, of the one that an open file is in: proc_pid_fdinfo(5).
func mountID(fd int) (string, error) {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return "", fmt.Errorf("find mount: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", errors.New("find mount: the kernel does not tell")
}

// Unmount takes away what is mounted there, as the function of that name does.
func (p *Place) Unmount(lazy bool) error {
	if err := Unmount(filepath.Join("/proc/self/fd", strconv.Itoa(p.parent), p.name), lazy); err != nil {
		return fmt.Errorf("unmount %s: %w", p.path, errors.Unwrap(err))
	}
	return nil
}

// MountedFrom is the Source of the place at a path.
func MountedFrom(path string) (string, error) {
	p, err := OpenPlace(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer p.Close() //nolint:errcheck // it was only looked at
	return p.Source()
}
