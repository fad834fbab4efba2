package sys

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// FileWatch waits for writes to a file. See inotify(7).
type FileWatch struct {
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
	n, err := unix.Poll(p, int(limit.Milliseconds()))
	if err != nil && err != unix.EINTR {
		return fmt.Errorf("watch files: %w", err)
	}
	if n > 0 {
		if _, err := unix.Read(w.fd, w.event[:]); err != nil && err != unix.EAGAIN && err != unix.EINTR {
			return fmt.Errorf("watch files: %w", err)
		}
	}
	return nil
}

// Close ends the watch.
func (w *FileWatch) Close() error { return unix.Close(w.fd) }
