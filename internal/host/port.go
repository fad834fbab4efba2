package host

import (
	"os"
	"strconv"
	"strings"
)

const portSettings = "/proc/sys/net/ipv4/"

// LeastPort is the lowest TCP port that a process without privileges may use; see
// ip_unprivileged_port_start in ip-sysctl.
func (h Host) LeastPort() int {
	if n := h.numbers(portSettings + "ip_unprivileged_port_start"); len(n) == 1 {
		return n[0]
	}
	return 1024
}

// OutgoingPorts is the range of TCP ports, both ends included, that the kernel gives to
// programs that ask for any, such as outgoing connections; see ip_local_port_range in ip-sysctl.
func (h Host) OutgoingPorts() (first, last int) {
	if n := h.numbers(portSettings + "ip_local_port_range"); len(n) == 2 {
		return n[0], n[1]
	}
	return 32768, 60999
}

// numbers are those that a file holds, none if it holds anything else.
func (h Host) numbers(file string) []int {
	b, err := os.ReadFile(h.path(file))
	if err != nil {
		return nil
	}
	var list []int
	for _, word := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}
