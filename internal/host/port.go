package host

import (
	"os"
	"strconv"
	"strings"
)

// LeastPort is the lowest TCP port that a process without privileges may use; see
// ip_unprivileged_port_start in ip-sysctl.
func (h Host) LeastPort() int {
	const usual = 1024
	b, err := os.ReadFile(h.path("/proc/sys/net/ipv4/ip_unprivileged_port_start"))
	if err != nil {
		return usual
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return usual
	}
	return n
}
