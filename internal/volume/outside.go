package volume

import (
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Outside returns a directory on any file system, outside of all volumes, as a target of
// snapshots. Its parent must exist; the directory itself is made if necessary, with no right
// for others to write. Files that are in it stay. Unfinished copies lie beside the finished
// ones, as in a volume.
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

// SharesWith reports whether a copy of the directory src in t shares its blocks and so needs no
// room. That takes one file system for both.
func SharesWith(t Target, src string) bool {
	if !t.Shares() {
		return false
	}
	same, err := sys.SameFS(t.Dir(), src)
	return err == nil && same
}

// CheckCopy is CheckRoom for a copy of the directory src, which holds size bytes, plus extra
// bytes. A copy that shares its blocks with src needs no room.
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
