package sys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// inlineSize is the largest file that the walker copies itself. Measured in
	// tmpfs on 2 cores: two threads making files of 4 to 16 KB in one directory
	// fight for its lock and are 1.5 times slower than one; from 1 MB on two are
	// as fast or up to 1.5 times faster.
	inlineSize = 256 << 10
	// maxCopiers bounds the goroutines that copy large files.
	maxCopiers = 8
	// maxQueued bounds the large files that are open and wait to be copied.
	maxQueued = 16
)

// copiers is how many goroutines copy large files: as many as there are CPUs to copy them in the
// kernel, whatever a supervisor leaves itself of these for its own code.
var copiers = min(runtime.GOMAXPROCS(0), maxCopiers)

// CopyTree copies the directory src to dst, which must not exist, and keeps
// contents, holes, modes, times, symbolic links, hard links inside the tree, user.*
// attributes and, as root, owners. Sockets are left out; FIFOs and devices are an
// error. Blocks are shared instead of copied where the file system can. Symbolic
// links inside src are never followed.
//
// filter says what to leave out; nil leaves nothing out.
//
// dst stays closed to others (0700) until everything is in it. On error or when
// ctx ends, a part of the copy stays in dst: removing it is the caller's task.
// Nothing is synced.
func CopyTree(ctx context.Context, src, dst string, filter Filter) error {
	s, err := unix.Open(src, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: src, Err: err}
	}
	defer unix.Close(s)
	var st unix.Stat_t
	if err := unix.Fstat(s, &st); err != nil {
		return &os.PathError{Op: "stat", Path: src, Err: err}
	}
	if err := os.Mkdir(dst, 0o700); err != nil {
		return err
	}
	d, err := unix.Open(dst, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dst, Err: err}
	}
	defer unix.Close(d)

	c := &treeCopy{src: src, root: d, filter: filter, links: map[inode]string{}, uid: os.Geteuid(), gid: os.Getegid()}
	if err := c.run(ctx, func(ctx context.Context) error { return c.dir(ctx, s, c.root, "") }); err != nil {
		return err
	}
	if err := c.keepMeta(s, d, &st); err != nil {
		return fmt.Errorf("copy attributes of %s: %w", src, err)
	}
	return nil
}

// Filter says, by path relative to the source and by type, what a copy leaves out. An
// error ends the copy.
type Filter func(rel string, kind fs.FileMode) (skip bool, err error)

// leave asks the filter.
func (c *treeCopy) leave(rel string, st *unix.Stat_t) (bool, error) {
	if c.filter == nil {
		return false, nil
	}
	kind := fs.FileMode(0)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		kind = fs.ModeDir
	case unix.S_IFLNK:
		kind = fs.ModeSymlink
	case unix.S_IFREG:
	default:
		kind = fs.ModeIrregular
	}
	return c.filter(rel, kind)
}

// treeCopy is one run of CopyTree, or all of a LiveCopy. The walker alone uses links;
// noClone is shared with the copiers.
type treeCopy struct {
	src      string
	filter   Filter
	root     int // descriptor of the top of the copy
	uid, gid int
	links    map[inode]string // files with several names -> first name, relative
	noClone  atomic.Bool      // set once a reflink was refused
	large    chan *fileCopy
	// step, unless 0, is how many bytes of a file are shared at first: others write to the source.
	step int64
	// sums, unless nil, are of what was copied: see LiveCopy.Differences.
	sums *sums
}

type inode struct{ dev, ino uint64 }

// run walks the tree and copies small files on the way; large ones go to copiers
// beside it, which the walker joins when it is through.
func (c *treeCopy) run(ctx context.Context, walk func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.large = make(chan *fileCopy, maxQueued)
	drain := func() {
		for f := range c.large {
			if err := f.finish(ctx); err != nil {
				cancel(err)
			}
		}
	}
	var wg sync.WaitGroup
	for range copiers - 1 {
		wg.Go(drain)
	}
	if err := walk(ctx); err != nil {
		cancel(err)
	}
	close(c.large)
	drain()
	wg.Wait()
	return context.Cause(ctx)
}

// dir copies the entries of the open directory src to the open directory dst. rel
// is their path below the top.
func (c *treeCopy) dir(ctx context.Context, src, dst int, rel string) error {
	names, err := readNames(src)
	if err != nil {
		return c.fail("read directory", rel, err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(rel, name)
		if err := c.entry(ctx, src, dst, name, path); err != nil {
			return err
		}
	}
	return nil
}

func (c *treeCopy) entry(ctx context.Context, src, dst int, name, rel string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(src, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return c.fail("stat", rel, err)
	}
	if skip, err := c.leave(rel, &st); skip || err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && kind != unix.S_IFSOCK && st.Nlink > 1 {
		id := inode{st.Dev, st.Ino}
		if first, ok := c.links[id]; ok {
			return c.fail("link", rel, unix.Linkat(c.root, first, dst, name, 0))
		}
		c.links[id] = rel
	}
	switch kind {
	case unix.S_IFREG:
		return c.file(ctx, src, dst, name, rel, &st, false)
	case unix.S_IFDIR:
		return c.subdir(ctx, src, dst, name, rel, &st)
	case unix.S_IFLNK:
		return c.fail("copy link", rel, c.symlink(src, dst, name, &st))
	case unix.S_IFSOCK:
		return nil // belongs to a process, not to the data
	}
	return c.fail("copy", rel, errOddFile)
}

var errOddFile = errors.New("neither a file, a directory nor a link; a data directory holds no such thing")

func (c *treeCopy) subdir(ctx context.Context, src, dst int, name, rel string, st *unix.Stat_t) error {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	s, err := unix.Openat(src, name, flags, 0)
	if err != nil {
		return c.fail("open", rel, err)
	}
	defer unix.Close(s)
	if err := unix.Mkdirat(dst, name, 0o700); err != nil {
		return c.fail("make directory", rel, err)
	}
	d, err := unix.Openat(dst, name, flags, 0)
	if err != nil {
		return c.fail("open copy", rel, err)
	}
	defer unix.Close(d)
	if err := c.dir(ctx, s, d, rel); err != nil {
		return err
	}
	// All names are made by now, though large files may still be filled: that
	// does not touch the directory's times any more.
	return c.fail("copy attributes", rel, c.keepMeta(s, d, st))
}

func (c *treeCopy) symlink(src, dst int, name string, st *unix.Stat_t) error {
	buf := make([]byte, max(st.Size, unix.PathMax)+1)
	n, err := unix.Readlinkat(src, name, buf)
	if err != nil {
		return vanished(err, unix.EINVAL)
	}
	if err := unix.Symlinkat(string(buf[:n]), dst, name); err != nil {
		return err
	}
	if c.uid == 0 {
		if err := unix.Fchownat(dst, name, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(dst, name, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// fail names the file in an error; nil stays nil.
func (c *treeCopy) fail(op, rel string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: filepath.Join(c.src, rel), Err: err}
}

// vanished is ENOENT for the error of a file that has become one of another kind since it was
// looked at, and any other error as it is.
func vanished(err error, another unix.Errno) error {
	if errors.Is(err, another) {
		return unix.ENOENT
	}
	return err
}

// readNames returns the names in an open directory, without . and ..
func readNames(fd int) ([]string, error) {
	var names []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
