package server

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// IndexedLog is a binary or relay log: BASE.index lists its files, oldest first.
type IndexedLog struct {
	Base  string
	Files []string
}

// Logs reads the index files at the top of a data directory, whose server may be anybody's.
func Logs(dir string) (list []IndexedLog, err error) {
	indexes, err := sys.Glob(dir, "*.index")
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	for _, index := range indexes {
		text, err := readLogIndex(dir, filepath.Base(index))
		if err != nil {
			return nil, fmt.Errorf("read data directory: %w", err)
		}
		l := IndexedLog{Base: strings.TrimSuffix(filepath.Base(index), ".index")}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				l.Files = append(l.Files, filepath.Base(line))
			}
		}
		list = append(list, l)
	}
	return list, nil
}

func readLogIndex(dir, name string) (text string, err error) {
	f, err := sys.OpenIn(dir, name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(f)
	return string(b), errors.Join(err, f.Close())
}

// LogFiles returns the names of the binary and relay logs at the top of a data
// directory: the index files and what they list.
func LogFiles(dir string) (map[string]bool, error) {
	list, err := Logs(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, l := range list {
		names[l.Base+".index"], names[l.Base+".state"] = true, true
		for _, file := range l.Files {
			names[file] = true
			names[file+".idx"] = true // of GTIDs, from MariaDB 11.4
		}
	}
	return names, nil
}
