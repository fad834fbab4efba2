package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// SameFS reports whether two files lie on one file system.
func SameFS(a, b string) (bool, error) {
	var of [2]unix.Stat_t
	for i, path := range []string{a, b} {
		if err := unix.Stat(path, &of[i]); err != nil {
			return false, &os.PathError{Op: "stat", Path: path, Err: err}
		}
	}
	return of[0].Dev == of[1].Dev, nil
}
