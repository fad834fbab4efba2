package sys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoZram says that this machine has no compressed RAM devices.
var ErrNoZram = errors.New("this kernel has no zram devices")

// Zram is a compressed block device in RAM. Unlike a loop device it stays until it
// is removed, whichever process dies, so that its number must be written down before it holds
// anything. See https://docs.kernel.org/admin-guide/blockdev/zram.html
type Zram struct{ Number int }

const zramControl = "/sys/class/zram-control"

const (
	// zramPatience is how long Remove tries a device that is busy: udev and blkid have
	// a look at every device that appears or that was unmounted.
	zramPatience = time.Second
	zramPause    = 5 * time.Millisecond
)

// ZramLock keeps other processes of Ramaria on this machine, whatever their home,
// from adding zram devices. It is on the control directory itself, of which there is
// one. Closing the file lets go of it, and so does dying.
func ZramLock(ctx context.Context) (*os.File, error) {
	dir, err := os.Open(zramControl)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoZram
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoZram, err)
	}
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			dir.Close()
			return nil, fmt.Errorf("lock zram devices: %w", err)
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return nil, fmt.Errorf("lock zram devices: %w", ctx.Err())
		case <-time.After(zramPause):
		}
	}
}

// ZramDevices returns the numbers of all zram devices.
func ZramDevices() ([]int, error) {
	paths, err := Glob("/sys/block", "zram*")
	if err != nil {
		return nil, fmt.Errorf("list zram devices: %w", err)
	}
	var out []int
	for _, p := range paths {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(p), "zram")); err == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

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

// CheckZram returns ErrNoZram where zram devices cannot be made, and makes none.
func CheckZram() error {
	err := unix.Access(filepath.Join(zramControl, "hot_remove"), unix.W_OK)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoZram
	}
	if err != nil {
		return fmt.Errorf("%w that this process may use: %w", ErrNoZram, err)
	}
	return nil
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

// Size is what SetUp gave the device, in bytes; 0 before that, and for a device that
// is not there.
func (z Zram) Size() (int64, error) {
	b, err := os.ReadFile(z.attribute("disksize"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", z.Path(), err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// Remove takes the device and all in it away; unix.EBUSY if it stays mounted or open.
// A device that is not there is no error.
func (z Zram) Remove() error {
	for end := time.Now().Add(zramPatience); ; time.Sleep(zramPause) {
		err := z.remove()
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

func (z Zram) remove() error {
	if _, err := os.Stat(z.attribute("disksize")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(z.attribute("reset"), []byte("1"), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reset %s: %w", z.Path(), err)
	}
	err := os.WriteFile(filepath.Join(zramControl, "hot_remove"), []byte(strconv.Itoa(z.Number)), 0)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove %s: %w", z.Path(), err)
	}
	return nil
}
