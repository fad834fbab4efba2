package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// firstUser is the least uid of people: those below are the system's, which logind spares.
const firstUser = 1000

// RemovesIPC reports whether systemd-logind empties the shared memory of a user when the
// last session ends: RemoveIPC=yes, its default, for people who do not linger. See
// logind.conf(5) and loginctl(1).
func (h Host) RemovesIPC(uid int, name string) bool {
	if uid < firstUser {
		return false
	}
	if _, err := os.Stat(h.path("/run/systemd/seats")); err != nil {
		return false // there is no logind
	}
	for _, user := range []string{name, strconv.Itoa(uid)} {
		if _, err := os.Stat(h.path("/var/lib/systemd/linger/" + user)); user != "" && err == nil {
			return false
		}
	}
	removes := true
	read := func(file string) {
		b, err := os.ReadFile(file)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(b)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), "RemoveIPC="); ok {
				value = strings.ToLower(strings.TrimSpace(value))
				removes = value != "no" && value != "false" && value != "0" && value != "off"
			}
		}
	}
	read(h.path("/etc/systemd/logind.conf"))
	for _, dir := range []string{"/usr/lib/systemd/logind.conf.d", "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d"} {
		entries, err := os.ReadDir(h.path(dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") {
				read(filepath.Join(h.path(dir), e.Name()))
			}
		}
	}
	return removes
}
