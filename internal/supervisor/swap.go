package supervisor

import (
	"errors"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// leastSwapped is how much of the files must be swapped out to speak of it, in bytes, and
	// swappedShare which part, one in so many. It ends at half of either.
	leastSwapped = 16 << 20
	swappedShare = 100
)

// swap measures what of the instance is swapped out; of is what its files take. nil says that
// nothing on the machine is.
//
// The kernel tells of each file how many of its pages are not in memory (cachestat(2), Linux 6.5),
// which on a tmpfs are those that are swapped out. A kernel that has it has noswap too, with
// which volumes of the kinds tmpfs and xfs are mounted; zram and ramfs are never swapped.
func (s *Supervisor) swap(pid int, of int64) (*client.Swap, error) {
	h := host.Host{}
	machine := h.SwapUsed()
	if machine == 0 {
		return nil, nil //nolint:nilnil // as said
	}
	found := &client.Swap{MachineBytes: machine, ServerBytes: h.SwappedOut(pid), OfBytes: of}
	dir := s.inst.DataDir()
	switch s.volume.Kind() {
	case volume.Disk, volume.Zram, volume.Ramfs:
		found.FilesBytes = new(int64)
		return found, nil
	case volume.XFS: // what the call says of its files is something else: it counts whether there is the call
		dir = s.inst.ClientDir()
	}
	bytes, err := sys.SwappedOut(dir)
	if errors.Is(err, sys.ErrNoCachestat) {
		return found, nil // FilesBytes is nil: it is not known
	}
	if s.volume.Kind() == volume.XFS {
		bytes = 0
	}
	found.FilesBytes = &bytes
	return found, err
}

// swapNotice is what is said when files are swapped out. How much changes all the time: status says it.
const swapNotice = "a part of its data is swapped out, for want of memory: what reads that waits for the disk\nhint: ramaria down another instance with --rm, or more memory; then swapoff -a && swapon -a as root brings it back. As root, --volume xfs is never swapped"

// swapsNow reports whether there is anything to say of what is swapped out. was says that something
// was said before.
func swapsNow(w *client.Swap, was bool) bool {
	if w == nil || w.FilesBytes == nil {
		return false
	}
	least := max(leastSwapped, w.OfBytes/swappedShare)
	if was {
		least /= 2
	}
	return *w.FilesBytes >= least
}
