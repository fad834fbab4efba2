package sys

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// leastRead is how much of a file is asked for at first, in bytes. The kernel makes most files of
// /proc and /sys up to a page at a time.
const leastRead = 4 << 10

// ReadFile is os.ReadFile of a file of /proc or /sys, with four system calls in place of ten: the
// runtime's poller, which these files do not need, is left alone. Supervisors read some each second.
func ReadFile(path string) ([]byte, error) {
	failed := func(op string, err error) ([]byte, error) { return nil, &os.PathError{Op: op, Path: path, Err: err} }
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return failed("open", err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, leastRead)
	for {
		if len(text) == cap(text) {
			text = append(text, make([]byte, len(text))...)[:len(text)]
		}
		n, err := again(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		switch {
		case err != nil:
			return failed("read", err)
		case n == 0:
			return text, nil
		}
		text = text[:len(text)+n]
	}
}

// again does what a signal has interrupted once more.
func again(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
