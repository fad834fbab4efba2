package sys

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// XFSBlock is the block size, in bytes, of the XFS file systems that Ramaria makes.
const XFSBlock = 4096

// xfsGrowData is struct xfs_growfs_data, and xfsGrow the number of the call that
// takes it, XFS_IOC_FSGROWFSDATA; see ioctl_xfs_fsgrowfsdata in xfsprogs.
type xfsGrowData struct {
	blocks uint64 // the new size of the data section
	imaxpc uint32 // the part of it that inodes may take, in percent
	_      uint32
}

const (
	xfsGrow = 1<<30 | uint(unsafe.Sizeof(xfsGrowData{}))<<16 | 'X'<<8 | 110
	// xfsInodeShare is mkfs.xfs's own value for file systems below 1 TB.
	xfsInodeShare = 25
)

// GrowXFS grows the mounted XFS at path to size bytes, at most to the size of its
// device. It cannot shrink.
func GrowXFS(path string, size int64) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("grow XFS: %w", err)
	}
	defer dir.Close()
	data := xfsGrowData{blocks: uint64(size / XFSBlock), imaxpc: xfsInodeShare}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), uintptr(xfsGrow), uintptr(unsafe.Pointer(&data)))
	runtime.KeepAlive(&data)
	if errno != 0 {
		return fmt.Errorf("grow XFS at %s: %w", path, errno)
	}
	return nil
}
