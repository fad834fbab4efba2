package sys

import (
	"testing"
)

// What statx reports and what the kernel does must agree, and a size that nothing does must be refused.
func TestProbeUntorn(t *testing.T) {
	dir := "/var/tmp"
	const page, huge = 16 << 10, 64 << 20
	u, err := ProbeUntorn(dir, page)
	if err != nil {
		t.Skipf("SKIPPED, UNTESTED: %v", err)
	}
	t.Logf("%s: %+v", dir, u)
	if says := u.Min > 0 && u.Min <= page && page <= u.Max; says != u.Wrote {
		t.Errorf("statx says %v (%d to %d bytes), and the write of %d: %v, %v", says, u.Min, u.Max, page, u.Wrote, u.Refused)
	}
	if u.Fast > u.Max {
		t.Errorf("the device does %d, the file system %d", u.Fast, u.Max)
	}
	if u, err := ProbeUntorn(dir, huge); err == nil && u.Wrote {
		t.Errorf("a write of %d bytes is said to be untorn", huge)
	}
	if _, err := ProbeUntorn("/proc", page); err == nil {
		t.Error("a file was made in /proc")
	}
}
