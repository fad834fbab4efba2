package dumpfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// endings are the names by which a directory's dumps are known.
var endings = []string{".sql", ".sql.gz", ".sql.zst", ".sql.xz", ".sql.bz2", ".sql.zip"}

// Dir returns the paths of the dumps in a directory, in name order: files, or
// links to files, named *.sql, *.sql.gz and the like. Others are passed over. A
// directory without any is an error, and so is one whose rows lie in other files, by which
// its tables would be made empty.
func Dir(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read directory of dumps: %w", err)
	}
	if err := foreign(path, entries); err != nil {
		return nil, err
	}
	var dumps []string
	for _, e := range entries {
		p := filepath.Join(path, e.Name())
		if trimEnding(e.Name()) == e.Name() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		fi, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("read directory of dumps: %w", err)
		}
		if !fi.Mode().IsRegular() {
			continue
		}
		if err := refuseLink(path, p, e); err != nil {
			return nil, err
		}
		dumps = append(dumps, p)
	}
	if len(dumps) == 0 {
		if err := strangerDir(path, entries); err != nil {
			return nil, err
		}
		return nil, &dump.Error{File: path, Msg: "there is no dump in this directory",
			Hint: "put files named " + strings.Join(endings, ", ") + " there, or name the dump itself"}
	}
	return dumps, complete(path, dumps)
}

// refuseLink refuses a link of another user that leads out of a directory of dumps: who may put files there would have us
// read, and tell of, what he may not.
func refuseLink(dir, path string, e os.DirEntry) error {
	if e.Type()&os.ModeSymlink == 0 {
		return nil
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("read directory of dumps: %w", err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) == os.Geteuid() {
		return nil
	}
	to, err := filepath.EvalSymlinks(path)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fmt.Errorf("read directory of dumps: %w", err)
	}
	if filepath.Dir(to) == dir {
		return nil
	}
	return &dump.Error{File: path, Msg: "it is a link out of the directory, which another user has made", Hint: "name the file itself: " + to}
}

// foreign refuses a directory in which the rows of a dump seem to lie in another file, by which its tables would be made
// empty. Those that programs write so are dumpdir's.
func foreign(path string, entries []os.DirEntry) error {
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	for name := range names {
		if bare := trimEnding(name); name != bare && names[bare+".txt"] {
			return &dump.Error{File: path, Msg: "the rows of " + name + " seem to lie in " + bare + ".txt, as mysqldump --tab writes them", Hint: "if they do not, move " + bare + ".txt away, or load the dumps by their names (--from " + filepath.Join(path, name) + ")"}
		}
	}
	return nil
}

// Order returns the dumps in the order in which to load them: by base name, but
// those that only fill tables after those that make them.
func Order(paths []string) ([]string, error) {
	ordered := slices.Clone(paths)
	slices.SortStableFunc(ordered, func(a, b string) int {
		return strings.Compare(filepath.Base(a), filepath.Base(b))
	})
	if ownDir(ordered) {
		return ordered, nil
	}
	var schema, data []string
	for _, p := range ordered {
		h, err := Peek(p, p)
		if err != nil {
			return nil, err
		}
		if h.Data {
			data = append(data, p)
		} else {
			schema = append(schema, p)
		}
	}
	return append(schema, data...), nil
}

// DatabaseName returns the name of the database that a dump without USE is loaded
// into: that of the file, shop for /dumps/shop.sql.gz and /dumps/shop.zip.
func DatabaseName(path string) string {
	base := filepath.Base(path)
	if name := trimEnding(base); name != base {
		return name
	}
	if n := len(base) - len(zipEnding); n > 0 && strings.EqualFold(base[n:], zipEnding) {
		return base[:n]
	}
	return base
}

const zipEnding = ".zip"

// Packed reports whether the name of a dump says that it is compressed.
func Packed(path string) bool {
	return slices.Contains([]string{".gz", ".zst", ".xz", ".bz2", zipEnding}, strings.ToLower(filepath.Ext(path)))
}

func trimEnding(name string) string {
	for _, e := range endings {
		if n := len(name) - len(e); n > 0 && strings.EqualFold(name[n:], e) {
			return name[:n]
		}
	}
	return name
}
