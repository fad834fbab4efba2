package engine

import (
	"fmt"
	"syscall"
)

// minOpenFiles is how many files a server must be able to open: with fewer it fails
// in ways that look like damage.
const minOpenFiles = 512

// checkFileLimit refuses to start servers that could not open their files. Go has
// raised the soft limit to the hard one by now, and so will the server.
func checkFileLimit() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	if l.Max < minOpenFiles {
		return fmt.Errorf("a process may open %d files here, and a server needs %d\nhint: ulimit -Hn 65536, as root or in the limits of the service", l.Max, minOpenFiles)
	}
	return nil
}
