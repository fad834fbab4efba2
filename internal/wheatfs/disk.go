package wheatfs

import (
	"errors"
	"os"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// lanes is how many files the disk is: a file system such as ext4 lets one writer at a time into the holes of a
	// file, and a device has several.
	lanes = 8
	// laneSize is how many bytes of the device lie in one before the next has its turn; whole chunks.
	laneSize = 4 << 20
)

// disk is the part of a store that lies on a disk: nameless sparse files in turn, read and written past the page cache,
// so memory begins at a multiple of BlockSize.
type disk [lanes]*os.File

// openDisk makes one for a device of size bytes in a directory.
func openDisk(dir string, size int64) (d disk, err error) {
	for i := range d {
		if d[i], err = sys.UnnamedDirect(dir); err != nil {
			return d, errors.Join(err, d.Close())
		}
		// As large as it can become, so that no read ends early.
		if err = d[i].Truncate((size/(lanes*laneSize) + 1) * laneSize); err != nil {
			return d, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// Close gives back what it took.
func (d disk) Close() (err error) {
	for _, f := range d {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// lane tells where an offset of the device lies.
func lane(off int64) (i int, at int64) {
	turn := off / laneSize
	return int(turn % lanes), turn/lanes*laneSize + off%laneSize
}

// read and write are for bytes within one turn.
func (d disk) read(b []byte, off int64) error {
	i, at := lane(off)
	_, err := d[i].ReadAt(b, at)
	return err
}

func (d disk) write(b []byte, off int64) error {
	i, at := lane(off)
	_, err := d[i].WriteAt(b, at)
	return err
}

// laneSet has a bit for each file.
type laneSet uint

const allLanes laneSet = 1<<lanes - 1

// dig gives the disk n bytes from off on back that lie in some of the files, by one hole in each. A failure costs room until
// something is written there again, and no more.
func (d disk) dig(off, n int64, on laneSet) {
	end := off + n
	for i := range int64(lanes) {
		if on&(1<<i) == 0 {
			continue
		}
		// The first and the last byte of the range that lie in this file, if any does.
		first, last := off, end-1
		if turn := off / laneSize; turn%lanes != i {
			first = (turn + (i-turn%lanes+lanes)%lanes) * laneSize
		}
		if turn := last / laneSize; turn%lanes != i {
			last = (turn-(turn%lanes-i+lanes)%lanes)*laneSize + laneSize - 1
		}
		if first > last {
			continue
		}
		_, from := lane(first)
		_, to := lane(last)
		_ = sys.PunchHole(int(d[i].Fd()), from, to-from+1)
	}
}
