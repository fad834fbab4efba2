package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Untorn is what file system and device of a directory say of untorn writes. Sizes are in bytes.
type Untorn struct {
	sys.Untorn
	// Device is the name of the block device, "" if there is none, and DeviceMax the largest untorn write of it.
	Device    string
	DeviceMax int64
	// Failed is why it could not be found out.
	Failed error
}

// Untorn asks for a directory, with writes of a size in bytes.
func (h Host) Untorn(dir string, size int) (u Untorn) {
	u.Untorn, u.Failed = sys.ProbeUntorn(dir, size)
	number, err := sys.DeviceOf(dir)
	if err != nil {
		return u
	}
	device, err := filepath.EvalSymlinks(h.path("/sys/dev/block/" + number))
	if err != nil {
		return u
	}
	u.Device = filepath.Base(device)
	if _, err := os.Stat(filepath.Join(device, "queue")); err != nil { // a partition
		device = filepath.Dir(device)
	}
	if b, err := os.ReadFile(filepath.Join(device, "queue/atomic_write_unit_max_bytes")); err == nil {
		u.DeviceMax, _ = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	}
	return u
}
