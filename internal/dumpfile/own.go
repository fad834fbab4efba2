package dumpfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// sumsFile names all files of a directory that ramaria dump -o DIR/ has written, with their sums: sha256sum -c reads it.
const sumsFile = "SHA256SUMS"

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

// complete refuses a directory of ours that lacks a file.
func complete(dir string, dumps []string) error {
	if !ownDir(dumps) {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // of an older version, or files that were picked
	}
	if err != nil {
		return fmt.Errorf("read directory of dumps: %w", err)
	}
	for line := range bytes.Lines(sums) {
		_, name, ok := bytes.Cut(bytes.TrimSpace(line), []byte("  "))
		path := filepath.Join(dir, filepath.Base(string(name)))
		if ok && !slices.Contains(dumps, path) {
			return &dump.Error{File: path, Msg: "the file is not there, which " + sumsFile + " names", Hint: "copy or make the dump again"}
		}
	}
	return nil
}
