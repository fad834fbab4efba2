package sys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// unsharePrefix begins the names of copies that are not complete.
const unsharePrefix = ".ramaria-own-"

// IsUnfinished reports whether a file of this name is what an interrupted Unshare left.
func IsUnfinished(name string) bool {
	return len(name) > len(unsharePrefix) && name[:len(unsharePrefix)] == unsharePrefix
}

// Unshare puts a copy that shares no blocks with any other file in the place of the
// regular file name below root, with its owner, mode and holes. No process may have it open
// for writing. FALLOC_FL_UNSHARE_RANGE is not enough: XFS goes on treating a file that
// was once cloned as one with shared blocks, and looks each write up in a tree.
//
// A file of more than most bytes is not worth it. One that is not uid's own, or has several names, is left alone too: an account that may write to
// root could have put it there to have another user's file copied.
func Unshare(ctx context.Context, root *os.Root, name string, uid int, most int64) (err error) {
	in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("unshare file: %w", err)
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return fmt.Errorf("unshare file: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() || st.Nlink != 1 || int(st.Uid) != uid || fi.Size() > most {
		return nil
	}
	part := path.Join(path.Dir(name), unsharePrefix+path.Base(name))
	if err := root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unshare file: %w", err)
	}
	out, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("unshare file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(part))
		}
	}()
	err = copyDataBy(ctx, copyApart, int(out.Fd()), int(in.Fd()), fi.Size())
	err = errors.Join(err, out.Chown(int(st.Uid), int(st.Gid)), out.Chmod(fi.Mode()), out.Close())
	if err != nil {
		return fmt.Errorf("unshare %s: %w", name, err)
	}
	return root.Rename(part, name)
}
