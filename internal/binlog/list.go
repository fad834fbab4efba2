package binlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Files returns the names of the files of a binary log, the oldest first, none if there are none. base
// is what the server calls the log. Other names, which the application can make in its data directory,
// are left out.
func Files(dir, base string) ([]string, error) {
	paths, err := sys.Glob(dir, "*.[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list binary logs: %w", err)
	}
	var files []string
	numbers := map[string]uint64{}
	for _, path := range paths {
		name := filepath.Base(path)
		digits, ours := strings.CutPrefix(name, base+".")
		if n, err := fileNumber(digits); ours && err == nil {
			files, numbers[name] = append(files, name), n
		}
	}
	// .999999 comes before .1000000
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	return files, nil
}

// fileNumber reads the number behind the last dot of a file's name. Servers number up to 2^31 - 1.
func fileNumber(digits string) (uint64, error) { return strconv.ParseUint(digits, 10, 31) }

// Size returns how many bytes the files of a binary log take.
func Size(dir, base string) (bytes int64, err error) {
	files, err := Files(dir, base)
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // its instance was removed
	}
	if err != nil {
		return 0, fmt.Errorf("measure binary log: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range files {
		switch fi, err := root.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist): // purged meanwhile
		case err != nil:
			return 0, fmt.Errorf("measure binary log: %w", err)
		default:
			bytes += fi.Size()
		}
	}
	return bytes, nil
}

// Older reports whether a file of a log comes before another.
func Older(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}
