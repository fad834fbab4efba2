package archive

import "unsafe"

// align is how many bytes of b come before the first multiple of BlockSize in memory.
func align(b []byte) int {
	// #nosec G103 -- an address is looked at, and nothing reached by it
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (BlockSize - 1))
}
