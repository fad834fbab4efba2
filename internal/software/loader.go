package software

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ownLoader makes a program run through the loader that lies below root, with the
// libraries that lie there. The loader's path in the program is absolute, and in
// the packages it may be an absolute link, or under /usr, so it is looked for by
// its name. Options of the loader: ld.so(8).
func ownLoader(root string, p server.Program) (server.Program, error) {
	interpreter, err := interpreterOf(p.Path())
	if err != nil || interpreter == "" {
		return p, err
	}
	dirs := libraryDirs(root)
	for _, dir := range dirs {
		loader := filepath.Join(dir, filepath.Base(interpreter))
		if fi, err := os.Stat(loader); err == nil && fi.Mode().IsRegular() {
			return server.Program{Argv: []string{loader, "--library-path", strings.Join(dirs, ":"), p.Path()}}, nil
		}
	}
	return server.Program{}, fmt.Errorf("the packages hold no loader %s", filepath.Base(interpreter))
}

// libraryDirs returns the directories below root that hold shared libraries: those of
// the system (usr/lib/TRIPLET, lib/TRIPLET, and those without a triplet), and those
// that MySQL's own packages keep for themselves.
func libraryDirs(root string) []string {
	var dirs []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*", "usr/lib", "lib", "usr/lib64", "lib64", "usr/lib/mysql/private"} {
		found, _ := sys.Glob(root, pattern) // the pattern is right
		for _, dir := range found {
			if libs, _ := sys.Glob(dir, "*.so*"); len(libs) > 0 {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// interpreterOf returns the loader that a program names, or "" for one that needs
// none: a static program, or a script.
func interpreterOf(path string) (string, error) {
	e, err := elf.Open(path)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read program: %w", err)
	}
	defer e.Close()
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(p.Open())
			return strings.TrimRight(string(b), "\x00"), err
		}
	}
	return "", nil
}
