package basebackup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Remove removes the files of all bases but those in keep and the packs that these need: of earlier
// ones, and of those that Write was cut off in. The manifest must not name them any more, and no Write
// may be under way.
func Remove(d archive.Disk, keep []*Index) error {
	names, err := d.Names(baseDir)
	if err != nil {
		return fmt.Errorf("remove bases: %w", err)
	}
	need := map[string]bool{}
	for _, x := range keep {
		need[x.part(indexKind, x.id).name()] = true
		for _, id := range x.Packs() {
			need[x.part(packKind, id).name()] = true
		}
	}
	some := false
	for _, name := range names {
		name = path.Join(baseDir, name)
		if need[name] || !ours(name) {
			continue
		}
		some = true
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove bases: %w", err)
		}
	}
	if !some {
		return nil
	}
	if err := d.SyncDir(baseDir); err != nil {
		return fmt.Errorf("remove bases: %w", err)
	}
	return nil
}

// ours reports whether a file is one that Write makes.
func ours(name string) bool {
	ext := path.Ext(strings.TrimSuffix(name, newSuffix))
	return ext == packKind.suffix || ext == indexKind.suffix
}
