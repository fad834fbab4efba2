package sys

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadNow is ReadAt, for an urgent thread, of a file whose bytes are in memory. It may return fewer than
// asked for. Go's scheduler is not told of it. It takes a thread that makes one call of the kernel after
// the other for stuck after ten milliseconds: it looks at it every 20 us then, and each time gives its
// right to run Go code to another thread, which is woken for it. Threads that are not urgent lose more
// without that, where they wait for a processor, than they gain.
func ReadNow(f *os.File, b []byte, at int64) (n int, err error) {
	n, err = now(unix.SYS_PREAD64, f.Fd(), b, uintptr(at))
	runtime.KeepAlive(f)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// SleepNow is time.Sleep for an urgent thread: nobody has to wake it. Go's scheduler is told of longer times alone.
func SleepNow(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	if d > soon {
		_ = unix.Nanosleep(&t, nil) // it may end early
		return
	}
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

func now(call, fd uintptr, b []byte, at uintptr) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), at, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
