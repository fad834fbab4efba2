package sys

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileCopy is one regular file on its way; it owns both descriptors until finish.
type fileCopy struct {
	c        *treeCopy
	rel      string
	src, dst int
	st       unix.Stat_t
	again    bool // there is an older copy
}

// file makes the copy's name, unless it is there again, and fills it, here or, when it
// is large, in a copier.
func (c *treeCopy) file(ctx context.Context, src, dst int, name, rel string, st *unix.Stat_t, again bool) error {
	// O_NONBLOCK: should the name have become a FIFO since the stat, do not hang.
	s, err := unix.Openat(src, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return c.fail("open", rel, vanished(err, unix.ELOOP))
	}
	// Should it have become something else since the stat, the file has vanished.
	var now unix.Stat_t
	if err := unix.Fstat(s, &now); err != nil || now.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(s)
		return c.fail("open", rel, cmp.Or(err, error(unix.ENOENT)))
	}
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC
	if again {
		flags |= unix.O_NOFOLLOW
	} else {
		flags |= unix.O_EXCL
	}
	d, err := unix.Openat(dst, name, flags, 0o600)
	if err != nil {
		unix.Close(s)
		return fmt.Errorf("create copy of %s: %w", rel, err)
	}
	f := &fileCopy{c: c, rel: rel, src: s, dst: d, st: *st, again: again}
	if st.Size > inlineSize {
		select {
		case c.large <- f:
			return nil
		default: // the copiers have enough to do
		}
	}
	return f.finish(ctx)
}

// finish fills the copy, gives it its attributes and closes both files.
func (f *fileCopy) finish(ctx context.Context) error {
	err := f.fill(ctx)
	if err == nil {
		err = f.c.keepMeta(f.src, f.dst, &f.st)
	}
	unix.Close(f.src)
	if cerr := unix.Close(f.dst); err == nil {
		err = cerr
	}
	if err != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return f.c.fail("copy", f.rel, err)
}

func (f *fileCopy) fill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.again {
		if err := unix.Ftruncate(f.dst, f.st.Size); err != nil {
			return fmt.Errorf("set size: %w", err)
		}
	}
	if f.st.Size == 0 {
		f.c.sums.forget(f.rel)
		return nil
	}
	if !f.c.noClone.Load() {
		err := f.share(ctx)
		if !errors.Is(err, ErrNoReflink) {
			return err
		}
		f.c.noClone.Store(true)
	}
	if f.c.sums != nil {
		return f.c.sums.copy(ctx, f)
	}
	if f.again {
		return recopyData(ctx, f.dst, f.src, f.st.Size)
	}
	return copyData(ctx, f.dst, f.src, f.st.Size)
}

func (f *fileCopy) share(ctx context.Context) error {
	if f.c.step > 0 {
		return reflinkInSteps(ctx, f.dst, f.src, f.st.Size, f.c.step)
	}
	return Reflink(f.dst, f.src)
}

// keepMeta gives the open file or directory dst the owner, mode, user attributes
// and times of src, in this order: a change of owner clears setuid and setgid, and
// everything else touches times.
func (c *treeCopy) keepMeta(src, dst int, st *unix.Stat_t) error {
	mode := st.Mode & 0o7777
	if int(st.Uid) != c.uid || int(st.Gid) != c.gid {
		err := unix.Fchown(dst, int(st.Uid), int(st.Gid))
		if err != nil && c.uid == 0 {
			return fmt.Errorf("set owner: %w", err)
		}
		if err != nil {
			// An ordinary user cannot keep a foreign owner; setuid and setgid would
			// then mean something else.
			mode &^= unix.S_ISUID | unix.S_ISGID
		}
	}
	if err := copyUserAttrs(src, dst); err != nil {
		return err
	}
	if err := unix.Fchmod(dst, mode); err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	if err := futimens(dst, st.Atim, st.Mtim); err != nil {
		return fmt.Errorf("set times: %w", err)
	}
	return nil
}

// futimens sets both times of an open file: utimensat(2) without a name, which
// x/sys/unix has no function for.
func futimens(fd int, atime, mtime unix.Timespec) error {
	ts := [2]unix.Timespec{atime, mtime}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// copyUserAttrs copies the extended attributes whose names begin with "user.".
// File systems without them, on either side, are no error.
func copyUserAttrs(src, dst int) error {
	n, err := unix.Flistxattr(src, nil)
	if n == 0 || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list attributes: %w", err)
	}
	list := make([]byte, n)
	if n, err = unix.Flistxattr(src, list); err != nil {
		return fmt.Errorf("list attributes: %w", err)
	}
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	for _, name := range bytes.Split(list[:n], []byte{0}) {
		if !bytes.HasPrefix(name, []byte("user.")) {
			continue
		}
		k, err := unix.Fgetxattr(src, string(name), value)
		if err == nil {
			err = unix.Fsetxattr(dst, string(name), value[:k], 0)
		}
		if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENODATA) {
			return fmt.Errorf("copy attribute %s: %w", name, err)
		}
	}
	return nil
}
