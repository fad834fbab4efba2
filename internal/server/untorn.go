package server

import (
	"fmt"

	"github.com/ramaria-db/ramaria/internal/host"
)

// Values of --device-atomic.
const (
	AtomicOff  = "off"
	AtomicAuto = "auto"
	AtomicOn   = "on"
)

// DefaultPageSize is InnoDB's page size in bytes unless an instance has another.
const DefaultPageSize = 16 << 10

// untornSince is the version of each flavour from which on it writes pages with RWF_ATOMIC. None does: MySQL's request
// for it is open (https://github.com/mysql/mysql-community/issues/57), and MariaDB knows three vendors' cards alone
// (mysys/my_atomic_writes.c). Neither imports pwritev2.
var untornSince = map[Flavour]Version{}

// UntornFacts are what the decision about the doublewrite buffer rests on. Sizes are in bytes.
type UntornFacts struct {
	// Asked is --device-atomic.
	Asked    string
	Volume   string
	PageSize int64
	// Min and Max are what the file system says of writes with RWF_ATOMIC, Fast what of that the device does itself,
	// and Wrote whether it took one of a page. Failed is why that is not known.
	Min, Max, Fast int64
	Wrote          bool
	Failed         error
	// Device is the name of the block device, and DeviceMax its largest untorn write.
	Device    string
	DeviceMax int64
}

// With returns f with what a machine says of a directory.
func (f UntornFacts) With(u host.Untorn) UntornFacts {
	f.Min, f.Max, f.Fast, f.Wrote, f.Failed = u.Min, u.Max, u.Fast, u.Wrote, u.Failed
	f.Device, f.DeviceMax = u.Device, u.DeviceMax
	// XFS on a device that does none reports 1 MB, and as much as optimised (Linux 6.18, on a loop device).
	f.Fast = min(f.Fast, f.DeviceMax)
	return f
}

// Promised says whether file system and device write a page untorn that is written with RWF_ATOMIC, and what they say.
func (f UntornFacts) Promised() (bool, string) {
	switch {
	case f.Failed != nil:
		return false, f.Failed.Error()
	case f.Max == 0:
		return false, "the file system reports no untorn writes" + f.onDevice()
	case f.PageSize < f.Min || f.PageSize > f.Max:
		return false, fmt.Sprintf("the file system reports untorn writes of %d to %d bytes, and a page has %d%s", f.Min, f.Max, f.PageSize, f.onDevice())
	case !f.Wrote:
		return false, "the file system reports untorn writes of a page, and refuses one"
	case f.PageSize > f.Fast:
		return true, fmt.Sprintf("the file system writes a page untorn, in software; the device does up to %d bytes", f.Fast)
	}
	return true, "file system and device write a page untorn"
}

func (f UntornFacts) onDevice() string {
	if f.Device == "" {
		return ""
	}
	return fmt.Sprintf(" (device %s: %d bytes)", f.Device, f.DeviceMax)
}

// Untorn decides whether a server may go without its doublewrite buffer, and says why. The kernel promises nothing of
// writes without RWF_ATOMIC: it may split one, and may merge it with others to more than the device does untorn.
func (s *Server) Untorn(f UntornFacts) (without bool, why string) {
	promised, says := f.Promised()
	since, writes := untornSince[s.Flavour]
	writes = writes && s.Version.Compare(since) >= 0
	switch {
	case f.Asked == "" || f.Asked == AtomicOff:
		return false, ""
	case f.Volume != "disk":
		return false, "volume " + f.Volume + " is RAM, where a kill tears pages"
	case f.Asked == AtomicOn:
		return true, "--device-atomic on says that the device writes pages untorn; the kernel: " + says
	case !promised:
		return false, says
	case !writes:
		return false, says + " for writes with RWF_ATOMIC, which " + s.Name() + " does not use"
	}
	return true, says + ", and " + s.Name() + " asks for that"
}
