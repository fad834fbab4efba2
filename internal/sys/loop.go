package sys

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// loopPatience is how long another loop device is asked for when another process took the free
	// one first.
	loopPatience = 30 * time.Second
	// loopPause is the longest pause before the second try; it grows by as much with each, up to
	// longestLoopPause. The kernel names the same device to all that ask at once: without pauses one
	// of nine loses 64 times in a row in one of 2000 calls, and with them on a machine that is busy
	// otherwise.
	loopPause, longestLoopPause = 100 * time.Microsecond, 20 * time.Millisecond
)

// ErrNoLoop says that this machine has no loop devices, or none left.
var ErrNoLoop = errors.New("no loop device to be had")

const loopControl = "/dev/loop-control"

// CheckLoop returns ErrNoLoop where loop devices cannot be made, and makes none.
func CheckLoop() error {
	ctl, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoLoop, err)
	}
	return ctl.Close()
}

// LoopDevice makes the file a block device, with direct I/O where the file system of
// the file can. The device is taken away by the kernel once no process has it open and
// nothing is mounted from it (autoclear): closing what is returned, or dying, leaves
// none behind. block is the least that is read and written at once, in bytes; 0 leaves that to
// the kernel. Source of the calls: loop(4).
func LoopDevice(file *os.File, block int) (*os.File, error) {
	ctl, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
	}
	defer ctl.Close()
	pause := time.Duration(0)
	for end := time.Now().Add(loopPatience); time.Now().Before(end); {
		if pause > 0 {
			time.Sleep(rand.N(pause)) // #nosec G404 -- no secret
		}
		pause = min(pause+loopPause, longestLoopPause)
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
		}
		dev, err := os.OpenFile("/dev/loop"+strconv.Itoa(n), os.O_RDWR, 0)
		if errors.Is(err, unix.ENXIO) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
		}
		err = configureLoop(dev, file, block)
		if err == nil {
			return dev, nil
		}
		dev.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", dev.Name(), err)
		}
	}
	return nil, fmt.Errorf("%w: those that were free were taken by others at once, for %v", ErrNoLoop, loopPatience)
}

func configureLoop(dev, file *os.File, block int) error {
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Size: uint32(block)}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:], file.Name())
	return unix.IoctlLoopConfigure(int(dev.Fd()), &config)
}

// FreesRange reports whether a call of fallocate(2) with this mode leaves zeros, and no data, in its range: what a loop
// device makes of discarded blocks, and of zeros.
func FreesRange(mode uint32) bool {
	return mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0
}
