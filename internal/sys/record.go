package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// RecordLocked reports whether a process holds a POSIX record lock for writing
// anywhere on the file at path, as database servers do on files that they have
// open, and which one. It takes no lock, and writes nothing. The pid is 0 when the
// owner lives in another pid namespace.
func RecordLocked(path string) (pid int, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0) // of what may be a FIFO by now
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	// A read lock conflicts with write locks only, and asking for it needs no
	// permission to write (fcntl(2), F_GETLK).
	l := unix.Flock_t{Type: unix.F_RDLCK, Whence: 0, Start: 0, Len: 0}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil {
		return 0, false, fmt.Errorf("test record lock on %s: %w", path, err)
	}
	return int(l.Pid), l.Type != unix.F_UNLCK, nil
}
