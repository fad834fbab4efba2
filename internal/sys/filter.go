package sys

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LeastRefusedMap is the size in bytes from which shared mappings are refused: that of
// the smallest redo log of InnoDB. Smaller files are mapped for other ends (tc.log).
const LeastRefusedMap = 4 << 20

// ErrNoFilter says that this machine's architecture has no filter here.
var ErrNoFilter = errors.New("no system call filter for this architecture")

// auditArch is what seccomp(2) calls the architectures that Ramaria runs on.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// FilterCalls makes the calling thread, and all processes that it starts, unable to map a
// file of LeastRefusedMap or more for shared writing: mmap(2) fails with ENODEV, as on a
// filesystem that cannot. With unsynced their fsync(2) and fdatasync(2) succeed at once and
// do nothing: what was written is in the page cache, which outlives every process. Mappings of allowed bytes
// and more are let through; 0 is none.
//
// It cannot be undone, so the thread must be locked to its goroutine and never unlocked.
// The filter is described in seccomp(2); it wants no_new_privs, which the started processes
// inherit too.
func FilterCalls(unsynced bool, allowed uint32) error {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return ErrNoFilter
	}
	// Offsets into struct seccomp_data: the number, the architecture, then six
	// arguments of 8 bytes, little-endian.
	const nr, archAt, args, word, half = 0, 4, 16, 8, 4
	const length, prot, flags = args + word, args + 2*word, args + 3*word
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	answer := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	sync := answer(unix.SECCOMP_RET_ALLOW)
	if unsynced {
		sync = answer(unix.SECCOMP_RET_ERRNO) // error 0: it returns 0
	}
	if allowed == 0 {
		allowed = math.MaxUint32
	}
	filter := []unix.SockFilter{
		load(archAt),
		jump(unix.BPF_JEQ, arch, 0, 14),
		load(nr),
		jump(unix.BPF_JEQ, unix.SYS_FSYNC, 14, 0),
		jump(unix.BPF_JEQ, unix.SYS_FDATASYNC, 13, 0),
		jump(unix.BPF_JEQ, unix.SYS_MMAP, 0, 10),
		load(prot),
		jump(unix.BPF_JSET, unix.PROT_WRITE, 0, 8),
		load(flags),
		jump(unix.BPF_JSET, unix.MAP_SHARED, 0, 6),
		jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 5, 0),
		load(length + half),
		jump(unix.BPF_JGT, 0, 4, 0),
		load(length),
		jump(unix.BPF_JGE, allowed, 1, 0),
		jump(unix.BPF_JGE, LeastRefusedMap, 1, 0),
		answer(unix.SECCOMP_RET_ALLOW),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENODEV)),
		sync,
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("filter system calls: set no_new_privs: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: set filter: %w", err)
	}
	runtime.KeepAlive(&program)
	return nil
}
