// Package benchtest has what tests of benchmarks need of the machine.
package benchtest

import (
	"os"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

// OnDisk is a directory on a real block device, which goes with the test. Without such a device
// the test is skipped.
func OnDisk(t *testing.T) string {
	t.Helper()
	// /tmp is often in memory. Servers run under an account that passes through here.
	dir, err := os.MkdirTemp("/var/tmp", "rb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if !runner.DeviceOf(host.Host{}, dir).Exists() {
		t.Skipf("SKIPPED, UNTESTED: %s lies on no block device", dir)
	}
	return dir
}
