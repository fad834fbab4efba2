package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// CopyFile copies the content of the regular file src, holes kept, to dst, which
// must not exist and gets mode 0600. Blocks are shared where the file system can.
func CopyFile(ctx context.Context, src, dst string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if Reflink(int(out.Fd()), int(in.Fd())) == nil {
		return nil
	}
	if err := copyData(ctx, int(out.Fd()), int(in.Fd()), fi.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", src, err)
	}
	return nil
}
