package volume

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of volume.
type Kind string

// The kinds.
const (
	// Shm is a directory in shared memory, /dev/shm.
	Shm Kind = "shm"
	// Tmpfs is a tmpfs of its own, never swapped where the kernel can promise that.
	Tmpfs Kind = "tmpfs"
	// Ramfs is a ramfs: never swapped, and without a limit that the kernel would keep.
	Ramfs Kind = "ramfs"
	// XFS is XFS on a loop device over a file in a private tmpfs: clones share blocks.
	XFS Kind = "xfs"
	// Zram is XFS on a compressed block device in RAM.
	Zram Kind = "zram"
	// Disk is a directory on disk: for comparison, for data larger than RAM, and
	// where there is no RAM to be had.
	Disk Kind = "disk"
	// Auto leaves the choice to Choose.
	Auto Kind = "auto"

	// outside is no volume: see Opener.Outside.
	outside Kind = "directory"
)

// Kinds are all kinds, the one that Choose likes best first.
var Kinds = []Kind{XFS, Shm, Tmpfs, Zram, Ramfs, Disk}

// traits are what the rest of the package asks about a kind.
var traits = map[Kind]struct {
	ram     bool // its data is in memory
	mounted bool // it is a file system of its own, which takes root to make
	shares  bool // clones share blocks
}{
	Shm:   {ram: true},
	Tmpfs: {ram: true, mounted: true},
	Ramfs: {ram: true, mounted: true},
	XFS:   {ram: true, mounted: true, shares: true},
	Zram:  {ram: true, mounted: true, shares: true},
	Disk:  {},
}

// Mounted reports whether volumes of the kind are file systems of their own, which are mounted.
func (k Kind) Mounted() bool { return traits[k].mounted }

// Spec is the value of --volume: a kind and a limit of the size in bytes. Size 0 means the
// default: for volumes in RAM 1/DefaultRAMShare of the memory, for shm at most the size of its
// file system, for disk the size of its file system. A mounted volume keeps the largest size
// that it was opened with.
type Spec struct {
	Kind Kind
	Size int64
}

// kindList names the kinds for people: "auto, xfs, ... or disk".
func kindList() string {
	names := []string{string(Auto)}
	for _, k := range Kinds {
		names = append(names, string(k))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ParseSpec parses KIND or KIND:SIZE, for example shm, xfs:2G, disk, auto.
func ParseSpec(s string) (Spec, error) {
	name, size, sized := strings.Cut(s, ":")
	spec := Spec{Kind: Kind(name)}
	switch {
	case spec.Kind != Auto && !slices.Contains(Kinds, spec.Kind):
		return Spec{}, fmt.Errorf("parse volume %q: no such kind\nhint: use --volume KIND or KIND:SIZE (xfs:2G), KIND one of %s", s, kindList())
	case !sized:
		return spec, nil
	case spec.Kind == Auto:
		return Spec{}, fmt.Errorf("parse volume %q: auto takes no size\nhint: use --volume shm:%s", s, size)
	}
	n, err := ParseSize(size)
	if err != nil {
		return Spec{}, fmt.Errorf("parse volume %q: %w", s, err)
	}
	if n == 0 {
		return Spec{}, fmt.Errorf("parse volume %q: the size is zero\nhint: leave it out for the default: --volume %s", s, name)
	}
	spec.Size = n
	return spec, nil
}

// String returns the form that ParseSpec parses.
func (s Spec) String() string {
	if s.Size == 0 {
		return string(s.Kind)
	}
	return string(s.Kind) + ":" + exactSize(s.Size)
}
