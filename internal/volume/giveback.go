package volume

import (
	"context"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// worthFlushing is how many bytes a removal must free for XFS to be hurried.
	worthFlushing = 64 << 20
	// inactivation is what XFS takes to free the blocks of files that were removed,
	// once told to, beside the removal: measured 10 ms for 1 GB.
	inactivation = 10 * time.Millisecond
	// inactivationPolls is how often it is looked whether more has become free.
	inactivationPolls = 20
)

// Remove implements Volume. After a large tree it writes XFS's log: only then does XFS give the
// blocks back to memory, otherwise after up to half a minute.
func (m *Mount) Remove(ctx context.Context, path string) error {
	large := false
	if traits[m.kind].shares {
		if size, err := sys.DiskUsage(path); err == nil { // else Remove says what is wrong
			large = size >= worthFlushing
		}
	}
	err := m.directory.Remove(ctx, path)
	if err == nil && large {
		m.giveBack()
	}
	return err
}

// giveBack hurries XFS. It is no error if that does not work: it comes later then.
func (m *Mount) giveBack() {
	free := int64(-1)
	for range inactivationPolls {
		before := free
		fsys, err := sys.Statfs(m.dir) // starts the freeing, too
		if free = fsys.Avail; err != nil || free == before {
			return
		}
		time.Sleep(inactivation)
		f, err := os.CreateTemp(m.dir, trashPrefix) // a change, for Sync to write the log for
		if err != nil {
			return
		}
		_ = f.Sync()
		f.Close()
		os.Remove(f.Name())
	}
}
