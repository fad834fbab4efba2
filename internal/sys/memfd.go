package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MemFile returns a file in memory with the content, which has no name, vanishes
// with its last descriptor, and is inherited by processes that are started.
func MemFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, 0)
	if err != nil {
		return nil, fmt.Errorf("make file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	// Programs refuse option files that others may write to.
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, fmt.Errorf("make file in memory: %w", err)
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, fmt.Errorf("make file in memory: %w", err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("make file in memory: %w", err)
	}
	return f, nil
}
