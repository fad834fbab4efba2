package instance

import (
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// The values of --tmpdir that are no directory: OwnWheat, or with a size behind a colon what of it may lie in RAM, is a
// wheatfs of the instance's own, and OwnTmpfs a tmpfs where it can have one.
const (
	OwnWheat = "wheatfs"
	OwnTmpfs = "tmpfs"
)

// IsOwnTmpDir reports whether a value of --tmpdir is no directory.
func IsOwnTmpDir(text string) bool {
	kind, _, _ := strings.Cut(text, ":")
	return kind == OwnWheat || text == OwnTmpfs
}

// ParseWheat reads OwnWheat: how many bytes may lie in RAM, 0 if that is not said. ok is false if it is something else.
func ParseWheat(text string) (ram int64, ok bool, err error) {
	kind, size, sized := strings.Cut(text, ":")
	if kind != OwnWheat {
		return 0, false, nil
	}
	if !sized {
		return 0, true, nil
	}
	if ram, err = volume.ParseSize(size); err == nil && ram == 0 {
		err = fmt.Errorf("a wheatfs without RAM is a directory on a disk\nhint: --tmpdir DIR")
	}
	if err != nil {
		return 0, true, fmt.Errorf("use --tmpdir %s: %w", text, err)
	}
	return ram, true, nil
}

// Wheat is ParseWheat of the instance's --tmpdir, which was checked when it was made.
func (s Spec) Wheat() (ram int64, ok bool) {
	ram, ok, _ = ParseWheat(s.TmpDir)
	return ram, ok
}
