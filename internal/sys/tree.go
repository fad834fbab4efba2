package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// DiskUsage returns the bytes that the files of the tree at path hold in their
// file system: holes count nothing, hard links once. What vanishes during the walk
// is passed over, and so is a path that does not exist.
func DiskUsage(path string) (int64, error) {
	w := usage{seen: map[inode]bool{}}
	err := w.add(unix.AT_FDCWD, path)
	return w.bytes, err
}

// DiskBytes is what a file takes, without its holes, and no more than its size.
func DiskBytes(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return min(fi.Size(), st.Blocks*blockUnit)
	}
	return fi.Size()
}

type usage struct {
	bytes int64
	seen  map[inode]bool
}

func (w *usage) add(dir int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return gone("stat", name, err)
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !isDir && st.Nlink > 1 {
		id := inode{st.Dev, st.Ino}
		if w.seen[id] {
			return nil
		}
		w.seen[id] = true
	}
	w.bytes += st.Blocks * blockUnit
	if !isDir {
		return nil
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return gone("open", name, err)
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return gone("read directory", name, err)
	}
	for _, n := range names {
		if err := w.add(fd, n); err != nil {
			return err
		}
	}
	return nil
}

func gone(op, path string, err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

// RemoveTree removes path and everything below it, also directories of the caller
// that are closed to writing. A path that does not exist is no error.
func RemoveTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	walkErr := openAll(path)
	if err := os.RemoveAll(path); err != nil {
		return errors.Join(err, walkErr)
	}
	return nil
}

// openAll lets the caller into all its directories of the tree at path. Another user may have put a link in its place,
// where that may write beside it as in /dev/shm: it is not followed. What is not the caller's may have been replaced
// meanwhile; os.Root lets nothing lead out of the tree.
func openAll(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open directory", Path: path, Err: notPlain(err)}
	}
	defer unix.Close(fd)
	opened := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := os.Chmod(opened, 0o700); err != nil {
		return &os.PathError{Op: "open directory", Path: path, Err: err}
	}
	root, err := os.OpenRoot(opened)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(p, 0o700)
		}
		return nil
	})
	return errors.Join(err, root.Close())
}

// MoveBeneath renames from to the path rel below the directory root, at once. An
// existing target is never replaced: the error is then fs.ErrExist. No symbolic link
// on the way from root is followed, so that nothing leads outside.
func MoveBeneath(from, root, rel string) error {
	dir, err := openBeneath(root, filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return renameNew(unix.AT_FDCWD, from, dir, filepath.Base(rel))
}

// MoveFromBeneath renames the path rel below root to the path to, in the same way.
func MoveFromBeneath(root, rel, to string) error {
	dir, err := openBeneath(root, filepath.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	err = renameNew(dir, filepath.Base(rel), unix.AT_FDCWD, to)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	// To move a directory its owner needs the right to write to it (it holds "..").
	var st unix.Stat_t
	if unix.Fstatat(dir, filepath.Base(rel), &st, unix.AT_SYMLINK_NOFOLLOW) != nil ||
		st.Mode&unix.S_IFMT != unix.S_IFDIR || unix.Fchmodat(dir, filepath.Base(rel), 0o700, 0) != nil {
		return err
	}
	return renameNew(dir, filepath.Base(rel), unix.AT_FDCWD, to)
}

func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// The file system (NFS, some FUSE) has no such flag: look first.
		var st unix.Stat_t
		if unix.Fstatat(toDir, to, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			err = unix.EEXIST
		} else {
			err = unix.Renameat(fromDir, from, toDir, to)
		}
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// openBeneath opens the directory rel below root and follows no symbolic link
// except root itself.
func openBeneath(root, rel string) (int, error) {
	if !filepath.IsLocal(rel) {
		return -1, fmt.Errorf("open %s: %s leads outside", root, rel)
	}
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(root, flags, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: root, Err: err}
	}
	for _, name := range strings.Split(filepath.Clean(rel), "/") {
		if name == "." {
			continue
		}
		next, err := unix.Openat(fd, name, flags|unix.O_NOFOLLOW, 0)
		unix.Close(fd)
		if err != nil {
			return -1, &os.PathError{Op: "open", Path: filepath.Join(root, rel), Err: err}
		}
		fd = next
	}
	return fd, nil
}
