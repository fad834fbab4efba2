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

// Volume is an area for images/ and instances/. All methods may be called at the same time,
// also from several processes.
type Volume interface {
	Target
	// Clone copies the directory src, which may lie anywhere, to dst: contents, holes, modes,
	// times, links, user attributes, and owners if root asks. Sockets are left out. dst must
	// lie below Dir, and only its parent may exist. dst appears complete and at once, or not at
	// all. Errors match fs.ErrExist if dst exists, and *NoRoomError if the volume is full.
	// Nothing is synced: a clone on disk is safe from a power cut only after sys.SyncFS.
	Clone(ctx context.Context, src, dst string) error
	// Destroy removes the volume with all its images and gives its memory back. The error
	// matches ErrInUse if the volume holds instances or is otherwise in use, unless force says
	// to lose them. Destroy may be called more than once.
	Destroy(ctx context.Context, force bool) error
	// Close releases what the volume holds in this process; the data stays. Close may be called
	// more than once.
	Close() error
}

// Target is where snapshots go: a Volume, with images/ and instances/ in its directory, or a
// directory outside of all volumes (Opener.Outside).
type Target interface {
	// Kind returns the kind.
	Kind() Kind
	// Dir returns the absolute path of the directory.
	Dir() string
	// Usage measures the room. If the target is not a file system of its own, it walks all
	// files, about 1 ms for a thousand.
	Usage() (Usage, error)
	// Shares reports whether clones within it share blocks with their source: they then take
	// next to no time and room, however large the source. See SharesWith.
	Shares() bool
	// Snapshot is Volume.Clone of a directory that a process writes to: see How. The source may
	// lie in another volume, or in none.
	Snapshot(ctx context.Context, src, dst string, how How) error
	// Remove removes the file or tree at path, below Dir. The path disappears at once. A path
	// that does not exist is no error; one outside Dir is.
	Remove(ctx context.Context, path string) error
	// Sweep removes what killed processes have left half made or half removed, never the work
	// of living ones.
	Sweep(ctx context.Context) error
}

// How says how to take a snapshot.
type How struct {
	// Filter says which files to leave out; nil leaves none out.
	Filter sys.Filter
	// Freeze calls its argument while no process writes to the source; the argument copies what
	// has changed since the first copy. An error of Freeze itself fails the snapshot. nil means
	// that no process writes to the source.
	Freeze func(clone func(ctx context.Context) error) error
}

// ErrInUse says that a volume cannot be removed because instances or processes use it.
var ErrInUse = errors.New("the volume is in use")

// Usage is the room of a volume, in bytes.
type Usage struct {
	// Size is the limit, in bytes.
	Size int64
	// Used is the size of this volume's files: holes count nothing, blocks that clones share
	// count once. Files that were removed a moment ago may still count.
	Used int64
	// Free is how much can still be written: the least of what the limit, the file system and,
	// for volumes in RAM, the machine and the control group leave.
	Free int64
	// Bound says which of those is the least.
	Bound Bound
	// Cgroup is the control group that binds, if Bound is ByCgroup.
	Cgroup host.Cgroup
	// Memory is the RAM that the volume takes, 0 for a volume on disk. Compression makes it
	// less than Used, a file system's own structures make it more.
	Memory int64
}

// BoundBy says what runs out first, in words: limit, memory, the limit of control group /a: 2 GB.
func (u Usage) BoundBy() string {
	if u.Bound != ByCgroup {
		return string(u.Bound)
	}
	return LimitOf(u.Cgroup.Path, u.Cgroup.Limit)
}

// LimitOf names the memory limit of a control group.
func LimitOf(group string, limit int64) string {
	return fmt.Sprintf("the limit of control group %s: %s", group, FormatBytes(limit))
}

// Bound is what limits the room of a volume.
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
	// MkfsXFS returns the command line of mkfs.xfs; nil looks in the system's directories of
	// programs.
	MkfsXFS func(ctx context.Context) ([]string, error)
	// Owner is the owner of the volumes to open. The zero Owner owns none; it too leaves
	// volumes of others alone.
	Owner Owner

	// kernelName replaces the kernel's names of file systems in tests.
	kernelName func(Kind) string
}

// Open opens the volume that spec names, and makes it if it does not exist. Spec.Kind must not
// be Auto, for which Choose is. Errors match ErrUnfit.
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

// At returns the volume of a kind without making it. It is for removing things: in a volume
// that does not exist, they do not exist either.
func (o *Opener) At(kind Kind) Volume { return o.In(Spec{Kind: kind}, o.place(kind)) }

// In is At for a volume in another directory, such as that of a home which has moved.
func (o *Opener) In(spec Spec, dir string) Volume {
	if traits[spec.Kind].mounted {
		return o.mountIn(spec.Kind, dir)
	}
	return newDirectory(o.Host, spec, dir)
}

// There reports whether the volume of a kind exists, without making it.
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
