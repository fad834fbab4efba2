package host

import "fmt"

// SwapUsed returns how much the machine has swapped out, in bytes.
func (h Host) SwapUsed() int64 {
	const kb = 1 << 10
	total, free := h.readLine("/proc/meminfo", "SwapTotal:"), h.readLine("/proc/meminfo", "SwapFree:")
	return max(0, total-free) * kb
}

// SwappedOut returns how much of a process's own memory is swapped out, in bytes, 0 if that is not
// known. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func (h Host) SwappedOut(pid int) int64 {
	const kb = 1 << 10
	return max(0, h.readLine(fmt.Sprintf("/proc/%d/status", pid), "VmSwap:")) * kb
}
