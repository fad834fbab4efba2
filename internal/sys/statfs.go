package sys

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// FS is what a file system says about its room.
type FS struct {
	// Size and Avail are bytes; Avail is what this user may still write. Both are
	// math.MaxInt64 where the file system has no limit of its own.
	Size, Avail int64
	// Free is Avail with what is set aside for others than this user.
	Free int64
	// FreeInodes is how many files can still be made, math.MaxInt64 if no limit is known.
	FreeInodes int64
	// RAM says that the files lie in memory: tmpfs or ramfs.
	RAM bool
	// Type is what the file system is called: ext4, nfs; in hexadecimal where that is not known.
	Type string
}

// fsTypes are the names of file systems by what statfs(2) calls f_type; ext2 and ext3 have that of ext4.
var fsTypes = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.F2FS_SUPER_MAGIC: "f2fs", 0x2fc12fc1: "zfs", 0xca451a4e: "bcachefs",
	unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "ceph",
}

// Statfs asks the file system that holds path.
func Statfs(path string) (FS, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return FS{}, fmt.Errorf("statfs %s: %w", path, err)
		}
	}
	return newFS(&st), nil
}

// StatfsOn is Statfs of the file system at path if it is the one on the device of that number (DeviceNumber).
func StatfsOn(path string, number uint64) (FS, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return FS{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var is unix.Stat_t
	var st unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &is), unix.Fstatfs(fd, &st)); err != nil {
		return FS{}, fmt.Errorf("statfs %s: %w", path, err)
	}
	if is.Dev != number {
		return FS{}, fmt.Errorf("statfs %s: another file system is there", path)
	}
	return newFS(&st), nil
}

func newFS(st *unix.Statfs_t) FS {
	unit := int64(st.Frsize)
	if unit == 0 {
		unit = int64(st.Bsize)
	}
	fs := FS{
		Size:       int64(st.Blocks) * unit,
		Avail:      int64(st.Bavail) * unit,
		Free:       int64(st.Bfree) * unit,
		FreeInodes: int64(st.Ffree),
		RAM:        st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC,
	}
	// Of 32 bits, which some architectures extend by the sign.
	kind := int64(uint32(st.Type)) // #nosec G115 -- as said
	if fs.Type = fsTypes[kind]; fs.Type == "" {
		fs.Type = fmt.Sprintf("%#x", kind)
	}
	if st.Blocks == 0 { // ramfs, and tmpfs with size=0
		fs.Size, fs.Avail, fs.Free = math.MaxInt64, math.MaxInt64, math.MaxInt64
	}
	if st.Files == 0 { // Btrfs and others make inodes as they go
		fs.FreeInodes = math.MaxInt64
	}
	return fs
}

// SyncFS writes everything of the file system that holds path to its device
// (syncfs(2)) and returns an error of any write-back since it was opened.
func SyncFS(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync file system: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync file system of %s: %w", path, err)
	}
	return nil
}

// Writable returns an error unless the caller may make files in the directory,
// which includes that its file system takes any.
func Writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// DeviceOf is the number of the device that the file system of path lies on, as /sys and proc_pid_mountinfo(5) have it: "8:1".
func DeviceOf(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)), nil
}
