package volume

import (
	"fmt"
	"strings"
)

// Kind is a kind of volume.
type Kind string

// The kinds of this version.
const (
	// Shm is a directory in shared memory, /dev/shm.
	Shm Kind = "shm"
	// Disk is a directory on disk: for comparison, for data larger than RAM, and
	// where there is no RAM to be had.
	Disk Kind = "disk"
	// Auto leaves the choice to Choose.
	Auto Kind = "auto"
)

// later are the kinds that are thought of but not there yet.
var later = map[Kind]bool{"tmpfs": true, "ramfs": true, "xfs": true, "zram": true}

// Spec is what --volume says: a kind and a size limit in bytes. Size 0 is the
// default: for shm the file system's size, but at most 1/DefaultRAMShare of the
// memory; for disk the file system's size.
type Spec struct {
	Kind Kind
	Size int64
}

// ParseSpec reads KIND or KIND:SIZE, for example shm, shm:2G, disk, auto.
func ParseSpec(s string) (Spec, error) {
	name, size, sized := strings.Cut(s, ":")
	spec := Spec{Kind: Kind(name)}
	switch {
	case later[spec.Kind]:
		return Spec{}, fmt.Errorf("parse volume %q: volumes of kind %s are not there yet in this version\nhint: use --volume %s",
			s, name, Spec{Shm, 0}.with(size))
	case spec.Kind != Shm && spec.Kind != Disk && spec.Kind != Auto:
		return Spec{}, fmt.Errorf("parse volume %q: no such kind\nhint: use --volume shm, --volume shm:2G, --volume disk or --volume auto", s)
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

// with returns the kind with a size as the user wrote it.
func (s Spec) with(size string) string {
	if size == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + ":" + size
}

// String returns what ParseSpec reads.
func (s Spec) String() string {
	if s.Size == 0 {
		return string(s.Kind)
	}
	return s.with(exactSize(s.Size))
}
