package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// Device is a block device. The zero value is none: that of a file system in memory.
type Device struct {
	host   host.Host
	number string // "254:0", "" for none
}

// sectorBytes is the unit of the kernel's counters, whatever the device's own sectors are.
// https://docs.kernel.org/admin-guide/iostats.html
const sectorBytes = 512

// ramDisk are block devices whose blocks are memory.
var ramDisk = regexp.MustCompile(`^/dev/(zram|ram)[0-9]+$`)

// InRAM says that a directory lies in memory, and how: "tmpfs", "xfs on /dev/zram0". Below the
// layers of an overlay it does not look.
func InRAM(h host.Host, path string) (how string, yes bool) {
	m := mountOf(rooted(h, "/proc/self/mountinfo"), path)
	switch {
	case m.kind == "tmpfs" || m.kind == "ramfs":
		return m.kind, true
	case ramDisk.MatchString(m.source):
		return m.kind + " on " + m.source, true
	}
	return "", false
}

// DeviceOf finds the device below a path; one that cannot be found is none. File systems that can
// have several, such as btrfs, have a number of their own, for which the kernel counts nothing; the
// source of the mount tells the first one then.
func DeviceOf(h host.Host, path string) Device {
	m := mountOf(rooted(h, "/proc/self/mountinfo"), path)
	for _, number := range []string{m.number, numberOf(h, m.source)} {
		d := Device{h, number}
		if _, err := d.written(); number != "" && err == nil {
			return d
		}
	}
	return Device{}
}

// numberOf is the number of a device by its path, which may be a link (/dev/mapper/root), ""
// if it is none.
func numberOf(h host.Host, path string) string {
	if target, err := filepath.EvalSymlinks(rooted(h, path)); err == nil {
		path = target
	}
	text, err := os.ReadFile(rooted(h, filepath.Join("/sys/class/block", filepath.Base(path), "dev")))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Exists tells it from none.
func (d Device) Exists() bool { return d.number != "" }

// Number is "254:0", "" of none.
func (d Device) Number() string { return d.number }

// written is how many bytes were written to the device since the machine started, by
// everybody; 0 where there is no device.
func (d Device) written() (int64, error) {
	if !d.Exists() {
		return 0, nil
	}
	text, err := os.ReadFile(rooted(d.host, "/sys/dev/block/"+d.number+"/stat"))
	if err != nil {
		return 0, fmt.Errorf("read what device %s wrote: %w", d.number, err)
	}
	const sectorsWritten = 6
	fields := strings.Fields(string(text))
	if len(fields) <= sectorsWritten {
		return 0, fmt.Errorf("read what device %s wrote: %d figures", d.number, len(fields))
	}
	n, err := strconv.ParseInt(fields[sectorsWritten], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read what device %s wrote: %w", d.number, err)
	}
	return n * sectorBytes, nil
}

// whole is the number of the disk that a partition is part of: limits are those of disks.
func (d Device) whole() (string, error) {
	dir, err := filepath.EvalSymlinks(rooted(d.host, "/sys/dev/block/"+d.number))
	if err != nil {
		return "", err
	}
	_, err = os.Stat(filepath.Join(dir, "partition"))
	if errors.Is(err, fs.ErrNotExist) {
		return d.number, nil
	}
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "dev"))
	return strings.TrimSpace(string(text)), err
}

// Written is the measure of what a round wrote to the device.
const Written = "written to the device"

// Count runs work and returns how many bytes the device was given meanwhile: those of
// everybody on the machine, and what is still in the page cache comes later. It is 0 if there is
// no device, which is no measure of anything: see Exists. The error is that of work, or of a counter
// that could not be read.
func (d Device) Count(work func() error) (int64, error) {
	before, err := d.written()
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	after, err := d.written()
	return after - before, err
}
