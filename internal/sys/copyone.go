package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// CopyFile copies the content of the regular file in, holes kept, to the empty file out.
// Blocks are shared where the file system can.
func CopyFile(ctx context.Context, out, in *os.File) error { return copyInto(ctx, out, in, 0) }

// CopyWhole copies in to the file name in the directory to, where others may look at it and must not
// exist: it is not there before finish has had its way with the copy, which has no name until then, and so
// leaves nothing behind, whenever the process ends. A file of at most apart bytes shares no blocks: if
// its copy is read and changed at once, to read and write it takes less time than to share its blocks,
// to read them where they lie, and to part them again.
func CopyWhole(ctx context.Context, to *Dir, name string, in *os.File, apart int64, finish func(*os.File) error) (err error) {
	out, err := to.unnamed()
	if err != nil {
		return fmt.Errorf("copy file to %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := copyInto(ctx, out, in, apart); err != nil {
		return err
	}
	if err := finish(out); err != nil {
		return err
	}
	if err := to.named(out, name); err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	return nil
}

// copyInto copies the content of a regular file, holes kept, to an empty one. One of at
// most apart bytes shares no blocks.
func copyInto(ctx context.Context, out, in *os.File, apart int64) error {
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
		return fmt.Errorf("copy %s: %w", in.Name(), err)
	}
	return nil
}
