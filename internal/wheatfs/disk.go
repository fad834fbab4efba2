package wheatfs

import (
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// lanes is how many files the disk is: a file system such as ext4 lets one writer at a time into the holes of a
	// file, and a device has several.
	lanes = 8
	// laneSize is how many bytes of the device lie in one before the next has its turn; whole chunks.
	laneSize = 4 << 20
	// mostHoles is how many holes may wait to be dug, in each file.
	mostHoles = 64
)

// disk is the part of a store that lies on a disk: nameless sparse files in turn, read and written past the page cache,
// so memory begins at a multiple of BlockSize.
type disk [lanes]lane

// lane is one of the files, and what is to be dug in it: that takes the disk's time, and who discards does not wait for it.
// Who writes there does.
type lane struct {
	file *os.File
	// waiting counts holes, so that writers need not take the lock while there are none.
	waiting atomic.Int64
	mu      sync.Mutex
	dug     sync.Cond // holes or closing have changed
	holes   []hole    // the first is being dug
	// closing says that what waits need not be dug, and ended that nobody digs any more.
	closing bool
	ended   chan struct{}
}

// hole is a range of a file, in bytes.
type hole struct{ from, end int64 }

// openDisk makes one for a device of size bytes in a directory.
func openDisk(dir string, size int64) (*disk, error) {
	d := &disk{}
	for i := range d {
		l := &d[i]
		l.dug.L = &l.mu
		l.holes = make([]hole, 0, mostHoles)
		var err error
		if l.file, err = sys.UnnamedDirect(dir); err == nil {
			// As large as it can become, so that no read ends early.
			err = l.file.Truncate((size/(lanes*laneSize) + 1) * laneSize)
		}
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		l.ended = make(chan struct{})
		go l.digAll()
	}
	return d, nil
}

// Close gives back what it took.
func (d *disk) Close() (err error) {
	for i := range d {
		if l := &d[i]; l.file != nil {
			err = errors.Join(err, l.close())
		}
	}
	return err
}

func (l *lane) close() error {
	l.mu.Lock()
	l.closing = true
	l.dug.Broadcast()
	l.mu.Unlock()
	if l.ended != nil {
		<-l.ended
	}
	return l.file.Close()
}

// laneOf tells in which file an offset of the device lies, and where.
func laneOf(off int64) (i int, at int64) {
	turn := off / laneSize
	return int(turn % lanes), turn/lanes*laneSize + off%laneSize
}

// read and write are for bytes within one turn.
func (d *disk) read(b []byte, off int64) error {
	i, at := laneOf(off)
	_, err := d[i].file.ReadAt(b, at)
	return err
}

func (d *disk) write(b []byte, off int64) error {
	i, at := laneOf(off)
	l := &d[i]
	if l.waiting.Load() > 0 {
		l.await(hole{at, at + int64(len(b))})
	}
	_, err := l.file.WriteAt(b, at)
	return err
}

// await returns when nothing of a range is to be dug any more.
func (l *lane) await(h hole) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for slices.ContainsFunc(l.holes, func(o hole) bool { return o.from < h.end && h.from < o.end }) {
		l.dug.Wait()
	}
}

// laneSet has a bit for each file.
type laneSet uint

const allLanes laneSet = 1<<lanes - 1

// dig gives the disk n bytes from off on back that lie in some of the files, by one hole in each, soon. A failure costs room
// until something is written there again, and no more.
func (d *disk) dig(off, n int64, on laneSet) {
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
		_, from := laneOf(first)
		_, to := laneOf(last)
		d[i].dig(hole{from, to + 1})
	}
}

func (l *lane) dig(h hole) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.holes) == mostHoles {
		l.dug.Wait()
	}
	l.holes = append(l.holes, h)
	l.waiting.Add(1)
	l.dug.Broadcast()
}

// digAll digs until the lane is closed: the file goes then, with what waits.
func (l *lane) digAll() {
	defer close(l.ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.holes) == 0 && !l.closing {
			l.dug.Wait()
		}
		if l.closing {
			return
		}
		h := l.holes[0]
		l.mu.Unlock()
		_ = sys.PunchHole(int(l.file.Fd()), h.from, h.end-h.from) // see disk.dig
		l.mu.Lock()
		l.holes = slices.Delete(l.holes, 0, 1)
		l.waiting.Add(-1)
		l.dug.Broadcast()
	}
}

// settle returns when all is dug.
func (d *disk) settle() {
	for i := range d {
		d[i].await(hole{0, 1 << 62})
	}
}
