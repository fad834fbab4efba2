package sys

import (
	"os"
	"path/filepath"
)

// MakePrivate makes a directory that its owner alone may enter, unless it is there. What it lies in, and is not there either,
// others pass through if root makes it: servers of root have an account of their own, and lie beside it.
func MakePrivate(dir string) error {
	if os.Geteuid() == 0 {
		if err := os.MkdirAll(filepath.Dir(dir), 0o711); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o700)
}
