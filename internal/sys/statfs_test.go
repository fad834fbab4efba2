package sys

import "testing"

// TestTypeOfFS: a file system in RAM is one, and has its name.
func TestTypeOfFS(t *testing.T) {
	shm, err := Statfs("/dev/shm")
	if err != nil || !shm.RAM || shm.Type != "tmpfs" {
		t.Errorf("/dev/shm is %+v, %v", shm, err)
	}
	if proc, err := Statfs("/proc"); err != nil || proc.RAM || proc.Type != "0x9fa0" {
		t.Errorf("/proc is %+v, %v", proc, err)
	}
}
