package host

import (
	"bufio"
	"os"
	"slices"
	"strings"
)

// OSRelease is what os-release(5) says of the distribution. Fields are empty where
// it says nothing.
type OSRelease struct {
	ID      string   // debian, ubuntu, fedora, ...
	Like    []string // the distributions that it derives from, closest first
	Version string   // VERSION_ID: 12, 24.04; rolling ones have none
	Pretty  string   // Debian GNU/Linux 12 (bookworm)
}

// OSRelease reads /etc/os-release or, where that is missing, /usr/lib/os-release.
// A machine with neither gives the zero value.
func (h Host) OSRelease() OSRelease {
	for _, p := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if b, err := os.ReadFile(h.path(p)); err == nil {
			return parseOSRelease(string(b))
		}
	}
	return OSRelease{}
}

func parseOSRelease(text string) OSRelease {
	var r OSRelease
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		switch key {
		case "ID":
			r.ID = value
		case "ID_LIKE":
			r.Like = strings.Fields(value)
		case "VERSION_ID":
			r.Version = value
		case "PRETTY_NAME":
			r.Pretty = value
		}
	}
	return r
}

// Is reports whether the distribution is id or derives from it.
func (r OSRelease) Is(id string) bool { return r.ID == id || slices.Contains(r.Like, id) }
