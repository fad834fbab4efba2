package sys

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// loopTries is how often another loop device is asked for when somebody else took
// the free one first.
const loopTries = 64

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
// the file can. The device is taken away by the kernel once nobody has it open and
// nothing is mounted from it (autoclear): closing what is returned, or dying, leaves
// none behind. Source of the calls: loop(4).
func LoopDevice(file *os.File) (*os.File, error) {
	ctl, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
	}
	defer ctl.Close()
	for range loopTries {
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
		}
		dev, err := os.OpenFile("/dev/loop"+strconv.Itoa(n), os.O_RDWR, 0)
		if errors.Is(err, unix.ENXIO) {
			continue // somebody removed it meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
		}
		err = configureLoop(dev, file)
		if err == nil {
			return dev, nil
		}
		dev.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("set up %s: %w", dev.Name(), err)
		}
	}
	return nil, fmt.Errorf("%w: %d were free and taken by others at once", ErrNoLoop, loopTries)
}

func configureLoop(dev, file *os.File) error {
	config := unix.LoopConfig{Fd: uint32(file.Fd())}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:], file.Name())
	return unix.IoctlLoopConfigure(int(dev.Fd()), &config)
}
