package host

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// lastSystemID is the greatest uid of the system's accounts where /etc/login.defs says none.
const lastSystemID = 999

// RemovesIPC reports whether systemd-logind empties the shared memory of a user who is logged in
// when the last session ends: RemoveIPC=yes, the default of most distributions, for people who
// do not linger. It spares root and the system's accounts, and users that never had a session, as
// in most containers. See logind.conf(5) and loginctl(1).
func (h Host) RemovesIPC(uid int) bool {
	last := lastSystemID
	if text, ok := h.field("/etc/login.defs", "SYS_UID_MAX"); ok {
		if n, err := strconv.Atoi(text); err == nil {
			last = n
		}
	}
	if uid <= last {
		return false
	}
	user, err := os.ReadFile(h.path(sys.RunSystemd() + "/users/" + strconv.Itoa(uid)))
	if err != nil {
		return false // logind does not know the user, or is not there
	}
	for line := range strings.Lines(string(user)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "NAME="); ok && name != "" {
			if _, err := os.Stat(h.path("/var/lib/systemd/linger/" + name)); err == nil {
				return false
			}
		}
	}
	return h.logindRemovesIPC()
}

// systemdDirs is where systemd looks for settings, what counts most first.
func systemdDirs() []string {
	return []string{"/etc/systemd", sys.RunSystemd(), "/usr/local/lib/systemd", "/usr/lib/systemd"}
}

// logindRemovesIPC reads the settings of logind: the first logind.conf that there is, then
// what lies in logind.conf.d of all directories in the order of its names; a name that is in
// two of them counts where it comes first.
func (h Host) logindRemovesIPC() bool {
	value := "yes"
	for _, dir := range systemdDirs() {
		b, err := os.ReadFile(h.path(dir + "/logind.conf"))
		if err != nil {
			continue
		}
		// Its comments show what the distribution was built with: RHEL has no.
		value = cmp.Or(setting(string(b), "RemoveIPC"), setting(string(b), "#RemoveIPC"), value)
		break
	}
	dropIns := map[string]string{}
	for _, dir := range slices.Backward(systemdDirs()) {
		entries, err := os.ReadDir(h.path(dir + "/logind.conf.d"))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".conf") {
				dropIns[e.Name()] = h.path(dir + "/logind.conf.d/" + e.Name())
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dropIns)) {
		if b, err := os.ReadFile(dropIns[name]); err == nil {
			value = cmp.Or(setting(string(b), "RemoveIPC"), value)
		}
	}
	return !slices.Contains([]string{"no", "n", "false", "f", "off", "0"}, strings.ToLower(value))
}

// setting returns the last value of a name in the text of an option file, "" for none.
func setting(text, name string) string {
	last := ""
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(k) == name {
			last = strings.TrimSpace(v)
		}
	}
	return last
}
