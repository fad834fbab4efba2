package dumpfile

import (
	"path/filepath"
	"regexp"
)

// own are the names of the files of ramaria dump -o DIR/, which load in the order of their names: triggers, which have
// to be made behind the rows, are in the last.
var own = regexp.MustCompile(`^(0-(.+\.)?(accounts|schema)|1-.+\.[0-9]{4,}|9-(.+\.)?(objects|rights))\.sql(\.gz|\.zst)?$`)

// ownDir reports whether dumps are those of one such directory.
func ownDir(paths []string) bool {
	for _, p := range paths {
		if !own.MatchString(filepath.Base(p)) || filepath.Dir(p) != filepath.Dir(paths[0]) {
			return false
		}
	}
	return true
}
