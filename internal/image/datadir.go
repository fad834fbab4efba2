package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// isDataDir reports whether dir looks like a server's data directory.
func isDataDir(dir string) bool {
	for _, mark := range []string{"ibdata1", "mysql.ibd", "aria_log_control"} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	fi, err := os.Stat(filepath.Join(dir, "mysql"))
	return err == nil && fi.IsDir()
}

// walkDataDir calls file for each regular file and directory below dir that
// belongs into an image, with its path relative to dir. What a server makes anew
// is left out: sockets, pid files, temporary tablespaces, binary and relay logs,
// and what would make a copied replica replicate. A file that lies elsewhere
// (symbolic links, DATA DIRECTORY) is an error: a server on the copy would write
// to the original.
func walkDataDir(dir string, file func(rel string, d fs.DirEntry) error) error {
	logs, err := logFiles(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read data directory: %w\nhint: ramaria needs to read all of it; run as its owner or as root", err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return fmt.Errorf("read data directory: %w", err)
		}
		name := d.Name()
		switch {
		case path == dir:
			return nil
		case d.Type()&fs.ModeSymlink != 0, strings.HasSuffix(name, ".isl"):
			return fmt.Errorf("copy data directory %s: %s leads to a file elsewhere, which a server on the copy would write to\nhint: dump it instead, with mariadb-dump --all-databases --routines --events", dir, rel)
		case d.IsDir():
			return file(rel, d)
		case !d.Type().IsRegular():
			return nil
		case filepath.Dir(rel) == "." && (logs[name] || transient(name)):
			return nil
		}
		return file(rel, d)
	})
}

// transient reports whether a file at the top of a data directory is made anew by
// each server, or only meaningful where it was.
func transient(name string) bool {
	switch name {
	case "ib_buffer_pool", "auto.cnf", "master.info", "relay-log.info", "multi-master.info", "tc.log":
		return true
	}
	return strings.HasPrefix(name, "ibtmp") || strings.HasSuffix(name, ".pid") || strings.HasSuffix(name, ".err") ||
		strings.HasPrefix(name, "master-") && strings.HasSuffix(name, ".info")
}

// logFiles returns the names of the binary and relay logs at the top of a data
// directory: the index files and what they list.
func logFiles(dir string) (map[string]bool, error) {
	indexes, err := filepath.Glob(filepath.Join(globEscape(dir), "*.index"))
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	logs := map[string]bool{}
	for _, index := range indexes {
		b, err := os.ReadFile(index)
		if err != nil {
			return nil, fmt.Errorf("read data directory: %w", err)
		}
		logs[filepath.Base(index)] = true
		logs[strings.TrimSuffix(filepath.Base(index), ".index")+".state"] = true
		for _, l := range strings.Split(string(b), "\n") {
			if l = strings.TrimSpace(l); l != "" {
				logs[filepath.Base(l)] = true
			}
		}
	}
	return logs, nil
}

func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// hashDataDir returns a hash of names and contents of a data directory.
func hashDataDir(ctx context.Context, m memo.Store, dir string) (string, error) {
	h := sha256.New()
	err := walkDataDir(dir, func(rel string, d fs.DirEntry) error {
		if d.IsDir() {
			fmt.Fprintf(h, "dir %q\n", rel)
			return nil
		}
		sum, err := hashFile(ctx, m, filepath.Join(dir, rel))
		if errors.Is(err, memo.ErrChanged) {
			return runningError(dir, "its files change")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "file %q %s\n", rel, sum)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func runningError(dir, why string) error {
	return fmt.Errorf("copy data directory %s: a server is running on it (%s)\nhint: stop that server first, or dump it: mariadb-dump --all-databases --routines --events > all.sql", dir, why)
}

// checkStopped refuses a data directory that a server has open.
func checkStopped(dir string) error {
	for _, name := range []string{"ibdata1", "aria_log_control", "mysql.ibd"} {
		pid, held, err := sys.RecordLocked(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy data directory: %w", err)
		}
		if held {
			return runningError(dir, fmt.Sprintf("process %d has %s locked", pid, name))
		}
	}
	return nil
}

// redoCreator is where the redo log says which server made it:
// LOG_HEADER_CREATOR, https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/log0log.h
const (
	redoCreatorAt  = 16
	redoCreatorLen = 32
)

// checkMaker refuses a data directory of another flavour, or of a version newer
// than s; an older one of the same flavour is upgraded by starting it.
func checkMaker(dir string, s *server.Server) error {
	flavour, v, text := maker(dir)
	switch {
	case flavour == "":
		return nil
	case flavour != s.Flavour:
		return fmt.Errorf("copy data directory %s: it was written by %s, and the server is %s\nhint: use the server that wrote it, --server %s, or a dump", dir, text, s.Name(), flavour)
	case v.Series() != s.Version.Series() && v.Compare(s.Version) > 0:
		return fmt.Errorf("copy data directory %s: it was written by %s, which is newer than the server, %s\nhint: --server %s:%s, or a dump", dir, text, s.Name(), flavour, v.Series())
	}
	return nil
}

// maker tells which server last wrote a data directory, "" if it cannot be told.
func maker(dir string) (server.Flavour, server.Version, string) {
	if exists(filepath.Join(dir, "mysql.ibd")) || exists(filepath.Join(dir, "#innodb_redo")) {
		return server.MySQL, server.Version{}, "MySQL"
	}
	for _, name := range []string{"mariadb_upgrade_info", "mysql_upgrade_info"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		text := strings.TrimRight(string(b), "\x00\n ")
		v, err := server.ParseVersion(text)
		if err == nil && strings.Contains(text, "MariaDB") {
			return server.MariaDB, v, text
		}
	}
	f, err := os.Open(filepath.Join(dir, "ib_logfile0"))
	if err != nil {
		return "", server.Version{}, ""
	}
	defer f.Close()
	b := make([]byte, redoCreatorLen)
	if _, err := f.ReadAt(b, redoCreatorAt); err != nil {
		return "", server.Version{}, ""
	}
	text := string(bytes.TrimRight(b, "\x00 "))
	name, version, _ := strings.Cut(text, " ")
	v, err := server.ParseVersion(version)
	switch {
	case name == "MySQL" && err == nil:
		return server.MySQL, v, text
	case name == "MariaDB" && err == nil:
		return server.MariaDB, v, text
	}
	return "", server.Version{}, ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pageSize reads InnoDB's page size, in bytes, from the flags of the system
// tablespace; 0 is the default of 16 KB. FSP_SPACE_FLAGS lies 16 bytes into the
// FSP header, which follows the 38-byte page header; see
// https://github.com/MariaDB/server/blob/10.11/storage/innobase/include/fsp0fsp.h
// for the two layouts of the flags.
func pageSize(dir string) (int, error) {
	f, err := os.Open(filepath.Join(dir, "ibdata1"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read page size: %w", err)
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.ReadAt(b[:], 38+16); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read page size: %s/ibdata1 is cut short", dir)
		}
		return 0, fmt.Errorf("read page size: %w", err)
	}
	flags := binary.BigEndian.Uint32(b[:])
	shift := flags >> 6 & 15 // PAGE_SSIZE of the original format
	if flags&(1<<4) != 0 && flags&(1<<5) == 0 {
		shift = flags & 15 // full_crc32 keeps it in the lowest bits
	}
	if shift < 3 || shift > 7 || shift == 5 {
		return 0, nil
	}
	return 512 << shift, nil
}
