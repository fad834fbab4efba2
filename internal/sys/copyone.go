package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// CopyFile copies the content of the regular file src, holes kept, to dst, which
// must not exist and gets mode 0600. Blocks are shared where the file system can.
func CopyFile(ctx context.Context, src, dst string) (err error) {
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	return errors.Join(copyInto(ctx, out, src, 0), out.Close())
}

// CopyWhole is CopyFile for a dst that others may look at: it is not there before finish
// has had its way with the copy, which has no name until then, and so leaves nothing
// behind, whenever the process ends. A file of at most apart bytes shares no blocks: if its copy
// is read and changed at once, to read and write it takes less time than to share its blocks, to
// read them where they lie, and to part them again.
func CopyWhole(ctx context.Context, src, dst string, apart int64, finish func(*os.File) error) (err error) {
	fd, err := unix.Open(filepath.Dir(dst), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("copy file to %s: %w", dst, err)
	}
	out := os.NewFile(uintptr(fd), dst)
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := copyInto(ctx, out, src, apart); err != nil {
		return err
	}
	if err := finish(out); err != nil {
		return err
	}
	if err := unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, dst, unix.AT_SYMLINK_FOLLOW); err != nil {
		return fmt.Errorf("copy file: name it %s: %w", dst, err)
	}
	return nil
}

// copyInto copies the content of the regular file src, holes kept, to an empty file. One of at
// most apart bytes shares no blocks.
func copyInto(ctx context.Context, out *os.File, src string, apart int64) error {
	in, err := os.Open(src)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	ranger := copyRange
	if fi.Size() <= apart {
		ranger = copyApart
	} else if Reflink(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	if err := copyDataBy(ctx, ranger, int(out.Fd()), int(in.Fd()), fi.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", src, err)
	}
	return nil
}
