package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Redirect has what this process writes to its standard output and standard error go to the file at to, as far as it
// goes to the file at from.
func Redirect(from, to string) error {
	old, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("redirect output: %w", err)
	}
	next, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("redirect output: %w", err)
	}
	defer next.Close()
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		is, err := f.Stat()
		if err != nil || !os.SameFile(is, old) {
			continue
		}
		if err := unix.Dup3(int(next.Fd()), int(f.Fd()), unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("redirect output: %w", err)
		}
	}
	return nil
}
