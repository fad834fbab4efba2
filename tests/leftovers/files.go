package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileDepth is how far below a place files are told apart: deep enough to see an
// instance in a volume that was there before, not so deep as to list its tables.
const fileDepth = 4

// places returns where the project's files may turn up outside the directories of
// the tests.
func places() []string {
	list := []string{"/dev/shm", "/run", "/tmp", "/var/tmp"}
	if tmp := filepath.Clean(os.TempDir()); tmp != "/tmp" {
		list = append(list, tmp)
	}
	return list
}

// files lists what carries a name of ours in one of the places, and what lies in
// the test directories.
func (l Looker) files() ([]Thing, error) {
	var found []Thing
	for _, place := range places() {
		entries, err := os.ReadDir(place)
		if err != nil {
			continue // not there, or not ours to read
		}
		for _, e := range entries {
			if (l.ours(e.Name()) || strings.HasPrefix(e.Name(), ".ramaria")) && !l.ofOthers(e) {
				found = walk(found, filepath.Join(place, e.Name()), true)
			}
		}
	}
	for _, dir := range l.Below {
		found = walk(found, filepath.Clean(dir), false)
	}
	return found, nil
}

// walk adds root and what is below it, down to fileDepth. The test directories
// themselves are not leftovers: their maker removes them.
func walk(found []Thing, root string, withRoot bool) []Thing {
	//nolint:errcheck // walk's function returns nothing but nil and SkipDir
	filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile, or closed to us: the entry itself was seen
		}
		if path != root || withRoot {
			found = append(found, Thing{File, path, describe(e)})
		}
		if e.IsDir() && strings.Count(strings.TrimPrefix(path, root), "/") >= fileDepth {
			return fs.SkipDir
		}
		return nil
	})
	return found
}

func describe(e fs.DirEntry) string {
	info, err := e.Info()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("(%s, %d bytes, %s)", info.Mode(), info.Size(), info.ModTime().Format("15:04:05"))
}
