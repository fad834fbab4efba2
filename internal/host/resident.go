package host

import (
	"fmt"
	"os"
)

// Resident returns the memory of a process that is resident, in bytes.
// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
func Resident(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("measure the memory of process %d: %w", pid, err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0, fmt.Errorf("measure the memory of process %d: %w", pid, err)
	}
	return resident * int64(os.Getpagesize()), nil
}
