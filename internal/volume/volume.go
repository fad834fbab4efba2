// Package volume is where data lives, normally RAM: a directory that holds images
// and instances, knows how much room it has, and copies whole data directories
// fast. It keeps one invariant: below its directory a tree is there whole or
// not at all. Half a copy is never seen under its name, and what a killed process
// leaves behind lies under names that Sweep finds and nothing else uses.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Volume is an area for images/ and instances/. All methods may be called at the
// same time, from several processes too.
type Volume interface {
	Target
	// Clone makes dst, which must lie below Dir and not exist while its parent
	// does, a faithful copy of the directory src, which may lie anywhere: contents,
	// holes, modes, times, links, user attributes, and owners when root. Sockets
	// are left out. dst appears complete and at once, or not at all; an existing one
	// is fs.ErrExist. A full volume is a *NoRoomError. Nothing is synced: on disk a
	// clone is only safe from a power cut after sys.SyncFS.
	Clone(ctx context.Context, src, dst string) error
	// Destroy takes the volume away with all its images, and gives its memory back. One
	// that holds instances, or is in use otherwise, is ErrInUse, unless force says that
	// they are lost anyway. It may be called more than once.
	Destroy(ctx context.Context, force bool) error
	// Close lets go of what the volume holds in this process; the data stays. It
	// may be called more than once.
	Close() error
}

// Target is what snapshots go to: a Volume, where images/ and instances/ are in its directory, or
// a directory outside of all volumes (Opener.Outside).
type Target interface {
	// Kind tells which kind it is.
	Kind() Kind
	// Dir is the absolute path of the directory.
	Dir() string
	// Usage measures the room. Where it is not a file system of its own it walks all files:
	// about 1 ms for a thousand.
	Usage() (Usage, error)
	// Shares reports whether clones within it share blocks with their source: then they
	// take no time and no room, however large it is. See SharesWith.
	Shares() bool
	// Snapshot is Volume.Clone of a directory that a process writes to: see How. The
	// source may lie in another volume, or in none.
	Snapshot(ctx context.Context, src, dst string, how How) error
	// Remove removes the file or tree path, below Dir. It disappears at once; a
	// path that does not exist is no error; one outside Dir is refused.
	Remove(ctx context.Context, path string) error
	// Sweep removes what killed processes left half made or half removed, never
	// the work of living ones.
	Sweep(ctx context.Context) error
}

// How is how a snapshot is taken.
type How struct {
	// Filter says what stays out; nil is nothing.
	Filter sys.Filter
	// Freeze calls its argument, which copies what has changed since it was copied
	// first, while no process writes to the source. An error of its own counts as one of the
	// copy. nil says that no process writes.
	Freeze func(clone func(ctx context.Context) error) error
}

// ErrInUse says that a volume cannot be taken away.
var ErrInUse = errors.New("the volume is in use")

// Usage is the room of a volume, in bytes.
type Usage struct {
	// Size is the limit that applies.
	Size int64
	// Used is what the files of this volume hold; holes count nothing, blocks that
	// clones share count once. What was removed just now may still be in it.
	Used int64
	// Free is what can still be written: the least of what the limit, the file
	// system and, for volumes in RAM, the machine and the control group leave.
	Free int64
	// Bound says which of them that is.
	Bound Bound
	// Memory is the RAM that the volume takes, 0 for volumes on disk. Compression makes
	// it less than Used, a file system's own structures more.
	Memory int64
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

// Opener opens the volumes of one user.
type Opener struct {
	Host   host.Host
	Places host.Places
	// MkfsXFS finds the command line that mkfs.xfs is called by; nil looks for it
	// where the system has its programs.
	MkfsXFS func(ctx context.Context) ([]string, error)
	// Owner is whose volumes are opened. Without one those of others are left alone too.
	Owner Owner

	// kernelName replaces the kernel's names of file systems in tests.
	kernelName func(Kind) string
}

// Open opens the volume that spec names, and makes it if need be. Spec.Kind must not
// be Auto: that is Choose's task, which also tells why.
func (o *Opener) Open(ctx context.Context, spec Spec) (Volume, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open volume: %w", err)
	}
	if spec.Size < 0 {
		return nil, fmt.Errorf("open volume %s: its size is negative", spec)
	}
	t, ok := traits[spec.Kind]
	switch {
	case !ok:
		return nil, fmt.Errorf("open volume: no such kind %q\nhint: use %s", spec.Kind, kindList())
	case t.mounted:
		return o.openMount(ctx, spec)
	}
	for range placeTries {
		d, err := o.openDir(spec, o.place(spec.Kind))
		if !errors.Is(err, errForeign) {
			return d, err
		}
	}
	return nil, fmt.Errorf("open volume %s: %w", spec, errForeign)
}

// At returns the volume of a kind as it is, whether it has been made or not: for
// removing things, which then are not there either.
func (o *Opener) At(kind Kind) Volume { return o.In(Spec{Kind: kind}, o.place(kind)) }

// In is At for a volume at a directory, where it may be that of a home which has moved.
func (o *Opener) In(spec Spec, dir string) Volume {
	if traits[spec.Kind].mounted {
		return o.mountIn(spec.Kind, dir)
	}
	return newDirectory(o.Host, spec, dir)
}

// There reports whether the volume of a kind has been made, without making it.
func (o *Opener) There(kind Kind) (bool, error) {
	switch {
	case traits[kind].mounted && o.Places.Mounts == "":
		return false, nil
	case traits[kind].mounted:
		return sys.Mounted(o.place(kind))
	}
	_, err := os.Lstat(o.place(kind))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
