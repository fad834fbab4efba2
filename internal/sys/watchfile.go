package sys

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FileWatch waits for writes to a file. See inotify(7).
type FileWatch struct {
	// Urgent says that the thread that waits is one: Go's scheduler is not told of short waits then, see
	// ReadNow.
	Urgent bool

	fd    int
	watch int
	event [1 << 12]byte
}

// NewFileWatch makes a watch of no file.
func NewFileWatch() (*FileWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return &FileWatch{fd: fd, watch: -1}, nil
}

// Watch turns to another file.
func (w *FileWatch) Watch(path string) error {
	if w.watch >= 0 {
		// The file may be gone, and its watch with it.
		_, _ = unix.InotifyRmWatch(w.fd, uint32(w.watch))
		w.watch = -1
	}
	n, err := unix.InotifyAddWatch(w.fd, path, unix.IN_MODIFY)
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	w.watch = n
	return nil
}

// Wait waits until the file was written to since the last Wait, at most for limit. It may return
// early. The calling thread sleeps in the kernel: no goroutine has to be woken by another.
func (w *FileWatch) Wait(limit time.Duration) error {
	p := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	var n int
	var err error
	if w.Urgent {
		first := min(limit, soon)
		n, err = pollNow(p, first)
		limit -= first
	}
	if n == 0 && err == nil && limit > 0 {
		t := unix.NsecToTimespec(limit.Nanoseconds())
		n, err = unix.Ppoll(p, &t, nil)
	}
	if errors.Is(err, unix.EINTR) { // by Go's scheduler, too
		return nil
	}
	if err == nil && n > 0 {
		if _, err = now(unix.SYS_READ, uintptr(w.fd), w.event[:], 0); errors.Is(err, unix.EAGAIN) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	return nil
}

// soon is for how long a Wait of an urgent thread is not told to Go's scheduler. Beyond that no writes
// follow closely.
const soon = 2 * time.Millisecond

func pollNow(p []unix.PollFd, limit time.Duration) (int, error) {
	t := unix.NsecToTimespec(limit.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Close ends the watch.
func (w *FileWatch) Close() error { return unix.Close(w.fd) }
