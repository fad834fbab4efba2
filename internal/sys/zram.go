package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoZram says that this machine has no compressed RAM devices.
var ErrNoZram = errors.New("this kernel has no zram devices")

// Zram is a compressed block device in RAM. Unlike a loop device it stays until it
// is removed, whoever dies, so that its number must be written down before it holds
// anything. See https://docs.kernel.org/admin-guide/blockdev/zram.html
type Zram struct{ Number int }

const zramControl = "/sys/class/zram-control"

// AddZram makes a new device, which takes no memory until it is set up.
func AddZram() (Zram, error) {
	b, err := os.ReadFile(filepath.Join(zramControl, "hot_add"))
	if errors.Is(err, fs.ErrNotExist) {
		return Zram{}, ErrNoZram
	}
	if err != nil {
		return Zram{}, fmt.Errorf("%w: %w", ErrNoZram, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return Zram{}, fmt.Errorf("add zram device: the kernel answers %q", b)
	}
	return Zram{n}, nil
}

// HasZram reports whether the kernel can make zram devices.
func HasZram() bool {
	_, err := os.Stat(filepath.Join(zramControl, "hot_add"))
	return err == nil
}

// Path is the block device.
func (z Zram) Path() string { return "/dev/zram" + strconv.Itoa(z.Number) }

func (z Zram) attribute(name string) string {
	return filepath.Join("/sys/block", "zram"+strconv.Itoa(z.Number), name)
}

// SetUp gives the device its size in bytes, and the first of the compression
// algorithms that the kernel has.
func (z Zram) SetUp(size int64, algorithms ...string) error {
	for _, a := range algorithms {
		if os.WriteFile(z.attribute("comp_algorithm"), []byte(a), 0) == nil {
			break
		}
	}
	if err := os.WriteFile(z.attribute("disksize"), []byte(strconv.FormatInt(size, 10)), 0); err != nil {
		return fmt.Errorf("set up %s: %w", z.Path(), err)
	}
	return nil
}

// Memory returns the bytes of memory that the device takes, and the bytes of data
// that are in it.
func (z Zram) Memory() (used, data int64, err error) {
	b, err := os.ReadFile(z.attribute("mm_stat"))
	if err != nil {
		return 0, 0, fmt.Errorf("measure %s: %w", z.Path(), err)
	}
	f := strings.Fields(string(b)) // orig_data_size compr_data_size mem_used_total ...
	if len(f) < 3 {
		return 0, 0, fmt.Errorf("measure %s: the kernel says %q", z.Path(), b)
	}
	data, err = strconv.ParseInt(f[0], 10, 64)
	if err == nil {
		used, err = strconv.ParseInt(f[2], 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("measure %s: %w", z.Path(), err)
	}
	return used, data, nil
}

// Remove takes the device and all in it away; unix.EBUSY while it is mounted or
// open. A device that is not there is no error.
func (z Zram) Remove() error {
	if _, err := os.Stat(z.attribute("disksize")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(z.attribute("reset"), []byte("1"), 0); err != nil {
		return fmt.Errorf("reset %s: %w", z.Path(), err)
	}
	err := os.WriteFile(filepath.Join(zramControl, "hot_remove"), []byte(strconv.Itoa(z.Number)), 0)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove %s: %w", z.Path(), err)
	}
	return nil
}
