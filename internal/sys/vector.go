package sys

import (
	"syscall"
	"unsafe"
)

// ReadVector reads into parts, one after the other (readv(2)). vectors has room for as many, so that none is taken.
func ReadVector(fd int, vectors []syscall.Iovec, parts ...[]byte) (int, error) {
	return vector(syscall.SYS_READV, fd, vectors, parts)
}

// WriteVector writes a first part and others in one call (writev(2)).
func WriteVector(fd int, vectors []syscall.Iovec, first []byte, parts ...[]byte) (int, error) {
	return vector(syscall.SYS_WRITEV, fd, appendVector(vectors, first), parts)
}

func appendVector(vectors []syscall.Iovec, part []byte) []syscall.Iovec {
	if len(part) == 0 {
		return vectors
	}
	v := syscall.Iovec{Base: unsafe.SliceData(part)}
	v.SetLen(len(part))
	return append(vectors, v)
}

func vector(call uintptr, fd int, vectors []syscall.Iovec, parts [][]byte) (int, error) {
	for _, part := range parts {
		vectors = appendVector(vectors, part)
	}
	n, _, errno := syscall.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vectors))), uintptr(len(vectors)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
