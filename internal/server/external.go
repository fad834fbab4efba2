package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// absoluteTable is how a dictionary has the file of a table with DATA DIRECTORY. Compiling it
// takes a millisecond, which is more than all else that a command does before it begins.
var absoluteTable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/[^\x00-\x1f"*]{1,500}?\.ibd`)
})

// CheckExternalTables returns ErrExternalTable if the dictionary of the data directory dir has a
// table whose file lies outside of it. MySQL leaves no other trace of that in the
// directory: its server opens the path that the dictionary says.
func CheckExternalTables(dir string) error {
	for _, f := range Families {
		for _, name := range f.dataDir.dictionaries {
			file, err := findInFile(filepath.Join(dir, name), func(path string) bool {
				inside, err := filepath.Rel(dir, path)
				fi, statErr := os.Stat(path) // of a table that was dropped the name may be left
				return (err != nil || !filepath.IsLocal(inside)) && statErr == nil && fi.Mode().IsRegular()
			})
			if err != nil {
				return fmt.Errorf("look for tables that lie elsewhere: %w", err)
			}
			if file != "" {
				return fmt.Errorf("copy data directory %s: %w: %s\nhint: dump it instead, with %s --all-databases --routines --events", dir, ErrExternalTable, file, DumperFor(dir))
			}
		}
	}
	return nil
}

// findInFile returns the first absolute path of a table's file in a file that is wanted.
func findInFile(path string, wanted func(string) bool) (string, error) {
	const chunk, longest = 1 << 20, 1 << 10
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 0, chunk+longest)
	for {
		n, err := io.ReadFull(f, buf[len(buf):len(buf)+chunk])
		buf = buf[:len(buf)+n]
		for _, m := range absoluteTable().FindAll(buf, -1) {
			// A length or a name before it may look like part of the path.
			for at := 0; at >= 0; {
				if wanted(string(m[at:])) {
					return string(m[at:]), nil
				}
				next := bytes.IndexByte(m[at+1:], '/')
				if next < 0 {
					break
				}
				at += 1 + next
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		copy(buf, buf[max(0, len(buf)-longest):])
		buf = buf[:min(len(buf), longest)]
	}
}
