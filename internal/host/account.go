package host

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// ReservedID is the uid and gid of servers that root starts on a machine without
// a mysql account. It lies in the range that systemd sets aside for services
// without an account of their own, and below 65536, which small user namespaces
// end at.
const ReservedID = 61893

// ServerAccount returns uid and gid of the account that servers started by root
// run under: mysql if there is one, else the reserved one.
func (h Host) ServerAccount() (uid, gid int) {
	f, err := os.Open(h.path("/etc/passwd"))
	if err != nil {
		return ReservedID, ReservedID
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), ":")
		if len(fields) < 4 || fields[0] != "mysql" {
			continue
		}
		u, err1 := strconv.Atoi(fields[2])
		g, err2 := strconv.Atoi(fields[3])
		if err1 == nil && err2 == nil && u != 0 {
			return u, g
		}
	}
	return ReservedID, ReservedID
}
