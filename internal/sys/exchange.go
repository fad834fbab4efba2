package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Exchange swaps two files or directories of one file system at once: at no moment is
// either name without one.
func Exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
