package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// unfitFor marks errors that say that the machine cannot have a kind, so that another
// kind may do, and adds what to change.
func unfitFor(kind Kind, err error) error {
	var hint string
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, ErrUnfit):
		return err
	case is(sys.ErrNoZram):
		hint = "modprobe zram as root, on the host if this is a container; --volume xfs does without"
	case is(sys.ErrNoLoop):
		hint = "modprobe loop as root; in a container, docker run --privileged; --volume tmpfs does without"
	case is(syscall.ENODEV):
		hint = fmt.Sprintf("modprobe %s as root, if the kernel has it as a module; --volume shm does without", kind)
		if kind == Zram {
			hint = "modprobe xfs as root, if the kernel has it as a module; --volume shm does without"
		}
	case is(syscall.EPERM, syscall.EACCES):
		hint = "mounting takes CAP_SYS_ADMIN (docker run --privileged); --volume shm needs nothing"
	case is(syscall.ENOSYS, syscall.EOPNOTSUPP, fs.ErrNotExist):
		hint = "ramaria doctor tells what this machine can; --volume shm needs nothing"
	default:
		return err
	}
	return fmt.Errorf("%w: %w\nhint: %s", ErrUnfit, err, hint)
}
