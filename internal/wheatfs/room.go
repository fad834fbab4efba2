package wheatfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// diskMargin is what of the disk's free room is never promised, one part in so many and at least so many
	// bytes: others write there too, and what was promised must not fail.
	diskMargin, leastMargin = 50, 64 << 20
	// roomInterval is how often the room on the disk is looked at.
	roomInterval = 100 * time.Millisecond
	// roomGrain is the least change of the room, in bytes, that is passed on.
	roomGrain = 4 << 20
)

// promised is how much of the room that is free on a disk may be counted on, in bytes.
func promised(free int64) int64 { return max(free-max(free/diskMargin, leastMargin), 0) }

// Room is how much there is, and how much is free, in bytes; ok is false if it is gone.
func (f *FS) Room() (fs sys.FS, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path()
	if path == "" {
		return sys.FS{}, false
	}
	fs, err := sys.StatfsOn(path, f.number)
	return fs, err == nil
}

// watchRoom keeps what the file system promises within what RAM and disk have.
func (f *FS) watchRoom(ctx context.Context) {
	looks := time.NewTicker(roomInterval)
	defer looks.Stop()
	for {
		select {
		case <-looks.C:
			f.lookAtRoom()
		case <-f.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// lookAtRoom sets aside the blocks that there is no room for, so that who wants them is told that the disk is full:
// what a write has been promised must not fail when the kernel brings it here. Where the kernel does not let it
// (/sys is read-only in many containers), the size alone is the limit.
func (f *FS) lookAtRoom() {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path()
	if path == "" {
		return
	}
	disk, err := sys.Statfs(f.opts.Disk)
	if err != nil {
		return
	}
	fs, err := sys.StatfsOn(path, f.number)
	if err != nil {
		return
	}
	r := f.report
	onDisk := promised(disk.Avail)
	if r.Error != "" && r.RAM+r.Slack > r.Budget {
		onDisk = 0 // it takes nothing, whatever it says: a quota may be used up
	}
	// Less than nothing of the budget: as much has to move to the disk. What slack may be is no room for data.
	has := onDisk + r.Budget - max(slackLimit(r.Budget/BlockSize)*BlockSize, r.Slack) - r.RAM
	// Written to files, and not here yet.
	coming := max(fs.Size-fs.Free-(r.RAM+r.Disk-r.Structures), 0)
	aside := max(fs.Free-max(has-coming, 0), 0)
	if is := fs.Free - fs.Avail; max(is-aside, aside-is) < roomGrain {
		return
	}
	_ = os.WriteFile(filepath.Join("/sys/fs/ext4", f.device, "reserved_clusters"), fmt.Appendf(nil, "%d", aside/BlockSize), 0) // see above
}
