// Package volume is where data lives, normally RAM: a directory that holds images
// and instances, knows how much room it has, and copies whole data directories
// fast. It keeps one invariant: below its directory a tree is there whole or
// not at all. Half a copy is never seen under its name, and what a killed process
// leaves behind lies under names that Sweep finds and nobody else uses.
package volume

import (
	"context"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/host"
)

// Volume is an area for images/ and instances/. All methods may be called at the
// same time, from several processes too.
type Volume interface {
	// Kind tells which kind it is.
	Kind() Kind
	// Dir is the absolute path of the directory; images/ and instances/ are in it.
	Dir() string
	// Usage measures the room. It walks all files of the volume: about 1 ms for a
	// thousand.
	Usage() (Usage, error)
	// Clone makes dst, which must lie below Dir and not exist while its parent
	// does, a faithful copy of the directory src, which may lie anywhere: contents,
	// holes, modes, times, links, user attributes, and owners when root. Sockets
	// are left out. dst appears complete and at once, or not at all; an existing one
	// is fs.ErrExist. A full volume is a *NoRoomError. Nothing is synced: on disk a
	// clone is only safe from a power cut after sys.SyncFS.
	Clone(ctx context.Context, src, dst string) error
	// Remove removes the file or tree path, below Dir. It disappears at once; a
	// path that does not exist is no error; one outside Dir is refused.
	Remove(ctx context.Context, path string) error
	// Sweep removes what killed processes left half made or half removed, never
	// the work of living ones.
	Sweep(ctx context.Context) error
	// Close lets go of what the volume holds in this process; the data stays. It
	// may be called more than once.
	Close() error
}

// Usage is the room of a volume, in bytes.
type Usage struct {
	// Size is the limit that applies.
	Size int64
	// Used is what the files of this volume hold; holes count nothing.
	Used int64
	// Free is what can still be written: the least of what the limit, the file
	// system and, for volumes in RAM, the machine and the control group leave.
	Free int64
	// Bound says which of them that is.
	Bound Bound
}

// Bound is what limits a volume's room.
type Bound string

// The things that can run out first.
const (
	ByLimit      Bound = "limit"       // the size given with --volume KIND:SIZE, or the default
	ByFilesystem Bound = "file system" // e.g. /dev/shm itself
	ByInodes     Bound = "inodes"      // the number of files of the file system
	ByMemory     Bound = "memory"      // MemAvailable of the machine
	ByCgroup     Bound = "cgroup"      // the memory limit of the control group
)

// Open opens the volume that spec names, and makes its directory if need be.
// Spec.Kind must not be Auto: that is Choose's task, which also tells why.
func Open(ctx context.Context, h host.Host, p host.Places, spec Spec) (Volume, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open volume: %w", err)
	}
	if spec.Size < 0 {
		return nil, fmt.Errorf("open volume %s: its size is negative", spec)
	}
	switch spec.Kind {
	case Shm:
		return openDir(h, spec, p.Shm)
	case Disk:
		return openDir(h, spec, p.Disk)
	}
	return nil, fmt.Errorf("open volume: no such kind %q\nhint: use --volume %s or --volume %s", spec.Kind, Shm, Disk)
}
