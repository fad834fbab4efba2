package runner

import (
	"errors"
	"fmt"
	"os"

	"github.com/ramaria-db/ramaria/internal/host"
)

// NewBandwidth holds a device that no other process uses, as a loop device, to so many bytes a
// second each way. With version 2 of control groups that is a group, which needs the memory
// controller too, so that what the kernel writes from the page cache counts as its members';
// version 1 holds back whoever writes, the kernel included, and Add does nothing. ErrUnavailable
// says that this machine or user cannot.
func NewBandwidth(h host.Host, path string, rate int64) (*Throttle, error) {
	d := DeviceOf(h, path)
	if !d.Exists() {
		return nil, fmt.Errorf("%w: there is no block device below %s to hold back", ErrUnavailable, path)
	}
	if limits := bandwidthFiles(h); limits != nil {
		t := &Throttle{lifts: map[string]string{}}
		for _, file := range limits {
			if err := os.WriteFile(file, fmt.Appendf(nil, "%s %d", d.number, rate), 0); err != nil {
				return nil, fmt.Errorf("%w: hold back device %s: %w", ErrUnavailable, d.number, errors.Join(err, t.Remove()))
			}
			t.lifts[file] = d.number + " 0"
		}
		return t, nil
	}
	t, err := newThrottle("I/O", []controlGroup{{rooted(h, "/sys/fs/cgroup"), []string{"io", "memory"}, map[string]string{"io.max": fmt.Sprintf("%s rbps=%d wbps=%d", d.number, rate, rate)}}})
	if err != nil {
		return nil, fmt.Errorf("hold back device %s: %w", d.number, err)
	}
	return t, nil
}

// bandwidthFiles are those by which version 1 of control groups holds a device back whoever uses it;
// nil where there are none.
func bandwidthFiles(h host.Host) []string {
	var files []string
	for _, way := range []string{"read", "write"} {
		file := rooted(h, "/sys/fs/cgroup/blkio/blkio.throttle."+way+"_bps_device")
		if _, err := os.Stat(file); err != nil {
			return nil
		}
		files = append(files, file)
	}
	return files
}

// LiftBandwidth ends what NewBandwidth of a process that was killed has done to a device, "7:0".
func LiftBandwidth(h host.Host, number string) error {
	t := &Throttle{lifts: map[string]string{}}
	for _, file := range bandwidthFiles(h) {
		t.lifts[file] = number + " 0"
	}
	return t.Remove()
}
