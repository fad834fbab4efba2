package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// EnterNetwork has the calling thread, and the processes that it starts from then on, be in the network namespace that a file
// names (network_namespaces(7)). The caller's goroutine must be locked to its thread, and never unlocked.
func EnterNetwork(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", path, err)
	}
	return nil
}
