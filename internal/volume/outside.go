package volume

import (
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Outside returns a directory that is no volume, on whatever file system, as a target of snapshots.
// It is made if need be, while its parent must be there, and closed to the writing of others. What
// lies in it already stays; half made copies lie beside the whole ones, as in a volume.
func (o *Opener) Outside(dir string) (Target, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	if err := ownDir(dir, dirMode()); err != nil {
		return nil, fmt.Errorf("open directory %w", err)
	}
	return newDirectory(o.Host, Spec{Kind: outside}, dir), nil
}

// SharesWith reports whether a copy of the directory src shares its blocks in t: such a copy needs
// no room. It does within one file system only.
func SharesWith(t Target, src string) bool {
	if !t.Shares() {
		return false
	}
	same, err := sys.SameFS(t.Dir(), src)
	return err == nil && same
}

// CheckCopy is CheckRoom for a copy of the directory src, which holds size bytes, and extra bytes
// beside it.
func CheckCopy(t Target, src string, size, extra int64, what string) error {
	if SharesWith(t, src) {
		size = 0
	}
	return CheckRoom(t, size+extra, what)
}

// place names a target in messages.
func place(kind Kind, dir string) string {
	if kind == outside {
		return "directory " + dir
	}
	return "volume " + string(kind)
}
