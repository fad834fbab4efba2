package sys

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Glob returns the paths below dir whose names relative to it match a pattern of path.Match,
// sorted. Only the pattern is one: unlike filepath.Glob, whose whole argument is, it takes
// the dir of a home whose name has a [ in it.
func Glob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}
