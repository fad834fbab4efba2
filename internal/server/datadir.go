package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// dataDir is how a flavour's data directories look.
type dataDir struct {
	// mark is a file that every data directory has, or a pattern of such files
	// (path/filepath.Match).
	mark string
	// versionFiles have the version of the server that wrote last in their first line.
	versionFiles []string
	// dictionaries are files that say where tables lie.
	dictionaries []string
	// only are files that no other flavour has.
	only []string
	// versioned are files whose bytes 8 to 11 are that version, as 80036 is 8.0.36.
	versioned []string
}

// OpenFiles are those that some server keeps locked as long as it runs.
func OpenFiles() []string { return []string{"ibdata1", "aria_log_control", "mysql.ibd"} }

// LooksLikeDataDir reports whether dir has the files of a data directory.
func LooksLikeDataDir(dir string) bool {
	if slices.ContainsFunc(OpenFiles(), func(name string) bool { return fileExists(filepath.Join(dir, name)) }) {
		return true
	}
	fi, err := os.Stat(filepath.Join(dir, "mysql"))
	return err == nil && fi.IsDir()
}

// HoldsSystemTables reports whether dir has the tables of the server itself, which every
// data directory has.
func HoldsSystemTables(dir string) bool {
	return slices.ContainsFunc(Families, func(f *Family) bool {
		found, err := sys.Glob(dir, f.dataDir.mark)
		return err == nil && len(found) > 0
	})
}

// GlobEscape writes a name so that sys.Glob takes it as it is.
func GlobEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Maker is the server that last wrote a data directory.
type Maker struct {
	Flavour Flavour
	// Version is zero where only the flavour can be told.
	Version Version
	// Text is how people call it.
	Text string
}

// MakerOf tells who last wrote a data directory; the Flavour is "" if that cannot be told.
func MakerOf(dir string) Maker {
	for _, f := range Families {
		for _, name := range f.dataDir.versioned {
			if b := readPart(filepath.Join(dir, name), 8, 4); b != nil {
				n := int(binary.BigEndian.Uint32(b))
				v := Version{n / 10000, n / 100 % 100, n % 100}
				return Maker{f.Flavour, v, f.Name + " " + v.String()}
			}
		}
		for _, name := range f.dataDir.versionFiles {
			line, _, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimRight(readPart(filepath.Join(dir, name), 0, 0), "\x00\n ")), []byte("\n"))
			text := string(bytes.TrimSpace(line))
			if v, err := ParseVersion(text); err == nil && f.VersionMark != "" && strings.Contains(text, f.VersionMark) {
				return Maker{f.Flavour, v, text}
			}
		}
		for _, name := range f.dataDir.only {
			if fileExists(filepath.Join(dir, name)) {
				return Maker{Flavour: f.Flavour, Text: f.Name}
			}
		}
	}
	return redoMaker(dir)
}

// DumperFor is the name of the program that writes dumps of what a data directory holds.
func DumperFor(dir string) string {
	if f := FamilyOf(MakerOf(dir).Flavour); f != nil {
		return f.Dumpers[0]
	}
	return mariadbFamily.Dumpers[0]
}

// redoCreatorAt and redoCreatorLen are where a redo log says who made it:
// LOG_HEADER_CREATOR, https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/log0log.h
const (
	redoCreatorAt  = 16
	redoCreatorLen = 32
)

// redoMaker asks the redo log.
func redoMaker(dir string) Maker {
	text := string(bytes.TrimRight(readPart(filepath.Join(dir, "ib_logfile0"), redoCreatorAt, redoCreatorLen), "\x00 "))
	name, version, _ := strings.Cut(text, " ")
	v, err := ParseVersion(version)
	for _, f := range Families {
		if name == f.Name && err == nil {
			return Maker{f.Flavour, v, text}
		}
	}
	return Maker{}
}

// readPart returns n bytes at off of a regular file, or for n = 0 what it begins with;
// nil if it is another kind of file or has no such bytes. It waits for no writer (fifo(7)).
func readPart(path string, off int64, n int) []byte {
	const enough = 1 << 10 // for one line
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	b := make([]byte, max(n, enough))
	got, err := f.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) || got < n {
		return nil
	}
	if n == 0 {
		n = got
	}
	return b[:n]
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
