package sys

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// holeBlock is the grain in which DigHoles looks for zeros: the page size of
// tmpfs and the block size of ext4 and XFS as they come.
const holeBlock = 4096

// NextData returns the first range of data [start, end) at or after off in a file
// of the given size. start = end = size means that only a hole is left. File
// systems that know nothing of holes answer with one range of data.
func NextData(fd int, off, size int64) (start, end int64, err error) {
	start, err = unix.Seek(fd, off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		return off, size, nil
	case err != nil:
		return 0, 0, fmt.Errorf("find data: %w", err)
	}
	if start >= size {
		return size, size, nil
	}
	end, err = unix.Seek(fd, start, unix.SEEK_HOLE)
	if errors.Is(err, unix.ENXIO) { // the file was cut in between
		return size, size, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("find hole: %w", err)
	}
	return start, min(end, size), nil
}

// PunchHole gives the blocks of n bytes at off back to the file system; they then
// read as zeros. The size of the file stays.
func PunchHole(fd int, off, n int64) error {
	for {
		err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("punch hole: %w", err)
		}
		return nil
	}
}

// OwnBlocks gives a file blocks of its own for all that its size promises: holes get some, which
// read as zeros as before, and shared ones are copied. Writing to it takes no room then. File
// systems that cannot are left as they are. Others may write to the file meanwhile.
func OwnBlocks(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	for _, mode := range []uint32{unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_UNSHARE_RANGE} {
		err := unix.Fallocate(int(f.Fd()), mode, 0, info.Size())
		for errors.Is(err, unix.EINTR) {
			err = unix.Fallocate(int(f.Fd()), mode, 0, info.Size())
		}
		if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("give %s blocks of its own: %w", f.Name(), err)
		}
	}
	return nil
}

// DigHoles turns every whole 4 KB block of zeros in the regular file at path into
// a hole, as fallocate -d does, and returns how many bytes the file system got
// back. Contents and size stay, the mtime does not. The file must not be written
// to meanwhile: what was written between the look and the punch would be lost.
// Where the file system cannot punch holes, nothing happens.
func DigHoles(path string) (freed int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("dig holes: %w", err)
	}
	defer f.Close()
	return DigHolesIn(f)
}

// DigHolesIn is DigHoles of an open file.
func DigHolesIn(f *os.File) (freed int64, err error) {
	fd, path := int(f.Fd()), f.Name()
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return 0, fmt.Errorf("dig holes: stat %s: %w", path, err)
	}
	if before.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, fmt.Errorf("dig holes: %s is not a regular file", path)
	}
	if err := digHoles(fd, before.Size); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			return 0, nil
		}
		return 0, fmt.Errorf("dig holes: %s: %w", path, err)
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return 0, fmt.Errorf("dig holes: stat %s: %w", path, err)
	}
	return max(0, (before.Blocks-after.Blocks)*512), nil
}

func digHoles(fd int, size int64) error {
	buf := make([]byte, copyBuffer)
	for off := int64(0); off < size; {
		start, end, err := NextData(fd, off, size)
		if err != nil {
			return err
		}
		// Room that fallocate(2) set aside and was not written to reads as a hole, but is
		// held: servers make their files in this way.
		if gap := start - start%holeBlock - off; gap > 0 {
			if err := PunchHole(fd, off, gap); err != nil {
				return err
			}
		}
		for pos := start - start%holeBlock; pos < end; {
			n, err := pread(fd, buf, pos)
			if err != nil {
				return fmt.Errorf("read: %w", err)
			}
			if n == 0 {
				return nil
			}
			if err := punchZeros(fd, buf[:n], pos); err != nil {
				return err
			}
			pos += int64(n)
		}
		off = end
	}
	return nil
}

var zeroBlock [holeBlock]byte

// punchZeros punches the runs of zero blocks in p, which was read at off. A short
// last block counts as whole: what follows it is the end of the file.
func punchZeros(fd int, p []byte, off int64) error {
	run := int64(0)
	for pos := 0; pos < len(p); pos += holeBlock {
		b := p[pos:min(pos+holeBlock, len(p))]
		if bytes.Equal(b, zeroBlock[:len(b)]) {
			run += holeBlock
			continue
		}
		if run > 0 {
			if err := PunchHole(fd, off+int64(pos)-run, run); err != nil {
				return err
			}
		}
		run = 0
	}
	if run > 0 {
		blocks := (int64(len(p)) + holeBlock - 1) / holeBlock * holeBlock
		return PunchHole(fd, off+blocks-run, run)
	}
	return nil
}
