package sys

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSwap: the kernel takes the file, and lets it go.
func TestSwap(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "ramaria-swap-") // no kernel swaps to a tmpfs
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "swap")
	if err := NewSwap(path, 1<<20); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	if err := SwapOff(path); errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: ", err)
	} else if err != nil {
		t.Errorf("not in use: %v", err)
	}
	err = SwapOn(path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadFile("/proc/swaps"); err != nil || !strings.Contains(string(list), path) {
		t.Errorf("%s is not in %q, %v", path, list, err)
	}
	if err := SwapOff(path); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(list), path) {
		t.Errorf("%s is still in %q, %v", path, list, err)
	}
}
