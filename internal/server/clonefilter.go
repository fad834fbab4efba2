package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Transient reports whether a file at the top of a data directory is made anew by each
// server, or only meaningful where it was: a clone does without.
func Transient(name string) bool {
	switch name {
	case "ib_buffer_pool", "auto.cnf", "master.info", "relay-log.info", "multi-master.info", "tc.log":
		return true
	}
	return sys.IsUnfinished(name) || strings.HasPrefix(name, "ibtmp") || strings.HasSuffix(name, ".pid") || strings.HasSuffix(name, ".err") ||
		strings.HasPrefix(name, "master-") && strings.HasSuffix(name, ".info")
}

// ErrElsewhere says that a data directory leads out of itself.
var ErrElsewhere = errors.New("a table's data lies elsewhere (DATA DIRECTORY), where a copy would share it")

// CloneFilter is what clones of a data directory leave out: Transient files. A directory
// with data elsewhere, by a symbolic link or an .isl file, is ErrElsewhere.
func CloneFilter(rel string, kind fs.FileMode) (skip bool, err error) {
	if kind == fs.ModeSymlink || kind.IsRegular() && strings.HasSuffix(rel, ".isl") {
		return false, fmt.Errorf("copy %s: %w\nhint: dump that table, drop it, and load it again without DATA DIRECTORY", rel, ErrElsewhere)
	}
	return kind.IsRegular() && filepath.Dir(rel) == "." && Transient(rel), nil
}
