package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rootNeeds are the capabilities that root uses to run servers under another account, by their
// bits: to give it files and look after them, to become it, and to end its processes. See
// capabilities(7); Docker's default set has them all.
var rootNeeds = []struct {
	bit  uint
	name string
}{{0, "CAP_CHOWN"}, {1, "CAP_DAC_OVERRIDE"}, {3, "CAP_FOWNER"}, {5, "CAP_KILL"}, {6, "CAP_SETGID"}, {7, "CAP_SETUID"}}

// RootLacks tells what keeps this process, which is root, from running servers under the
// account ReservedID: capabilities that were dropped, as containers do, and a user namespace that
// does not have the account. It is empty where nothing does, or where that cannot be told.
func (h Host) RootLacks() []string {
	var lacks []string
	if text, ok := h.field("/proc/self/status", "CapEff:"); ok {
		if set, err := strconv.ParseUint(text, 16, 64); err == nil {
			for _, c := range rootNeeds {
				if set>>c.bit&1 == 0 {
					lacks = append(lacks, c.name)
				}
			}
		}
	}
	for _, kind := range []string{"uid", "gid"} {
		if b, err := os.ReadFile(filepath.Join(h.Root, "/proc/self/"+kind+"_map")); err == nil && !mapped(string(b), ReservedID) {
			lacks = append(lacks, kind+" "+strconv.Itoa(ReservedID)+" in the user namespace")
		}
	}
	return lacks
}

// mapped reports whether a map of user_namespaces(7) has an id.
func mapped(text string, id int) bool {
	for line := range strings.Lines(text) {
		var n [3]int
		f := strings.Fields(line)
		if len(f) != len(n) {
			continue
		}
		for i := range f {
			n[i], _ = strconv.Atoi(f[i])
		}
		if id >= n[0] && id-n[0] < n[2] {
			return true
		}
	}
	return false
}

// field returns the first word behind a name at the beginning of a line.
func (h Host) field(path, name string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(h.Root, path))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			return f[1], true
		}
	}
	return "", false
}
