package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

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
	if flavour == "" {
		return nil
	}
	return checkMadeBy("copy data directory "+dir, flavour, v, text, s)
}

// checkMadeBy refuses data of another flavour, or of a version newer than s; text is how
// people call its server.
func checkMadeBy(what string, flavour server.Flavour, v server.Version, text string, s *server.Server) error {
	switch {
	case flavour != s.Flavour:
		return fmt.Errorf("%s: it was written by %s, and the server is %s\nhint: use the server that wrote it, --server %s, or a dump", what, text, s.Name(), flavour)
	case v.Series() != s.Version.Series() && v.Compare(s.Version) > 0:
		return fmt.Errorf("%s: it was written by %s, which is newer than the server, %s\nhint: --server %s:%s, or a dump", what, text, s.Name(), flavour, v.Series())
	}
	return nil
}

// maker tells which server last wrote a data directory, "" if it cannot be told.
func maker(dir string) (server.Flavour, server.Version, string) {
	if exists(filepath.Join(dir, "mysql.ibd")) || exists(filepath.Join(dir, "#innodb_redo")) {
		return server.MySQL, server.Version{}, "MySQL"
	}
	for _, name := range []string{"mariadb_upgrade_info", "mysql_upgrade_info"} {
		b := readSmall(filepath.Join(dir, name))
		text := strings.TrimRight(string(b), "\x00\n ")
		v, err := server.ParseVersion(text)
		if err == nil && strings.Contains(text, "MariaDB") {
			return server.MariaDB, v, text
		}
	}
	f, err := openRegular(filepath.Join(dir, "ib_logfile0"))
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

// readSmall returns the beginning of a file, nothing if it cannot be read.
func readSmall(path string) []byte {
	const enough = 1 << 10 // for one line
	f, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return nil
	}
	return b
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
	f, err := openRegular(filepath.Join(dir, "ibdata1"))
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
