package server

import (
	"fmt"
	"os"
	"path/filepath"
)

// Where the parts of a server lie below its prefix (/usr, /usr/local/mysql, the
// root of an unpacked package), in the order of trial: Debian and the tarballs of
// MariaDB say mysql or nothing, Debian from 13 on, Fedora and openSUSE mariadb.
var (
	shareDirs  = []string{"share/mysql", "share/mariadb", "share"}
	pluginDirs = []string{
		"lib/mysql/plugin", "lib/mariadb/plugin", "lib64/mysql/plugin", "lib64/mariadb/plugin", "lib/plugin", "lib64/plugin",
	}
	// systemTables is the first bootstrap file; 11.0 renamed it.
	systemTables = []string{"mysql_system_tables.sql", "mariadb_system_tables.sql"}
)

// findParts fills in Share, Messages, Charsets and Plugins from the files below
// prefix. Without the first three a server cannot be used.
func (s *Server) findParts(prefix string) error {
	s.Share = firstWith(prefix, shareDirs, systemTables...)
	s.Messages = firstWith(prefix, shareDirs, "english/errmsg.sys")
	if dir := firstWith(prefix, shareDirs, "charsets/Index.xml"); dir != "" {
		s.Charsets = filepath.Join(dir, "charsets")
	}
	s.Plugins = firstWith(prefix, pluginDirs, ".")
	for _, part := range []struct{ dir, what string }{
		{s.Share, "bootstrap files (" + systemTables[0] + ")"},
		{s.Messages, "messages (english/errmsg.sys)"},
		{s.Charsets, "character sets (charsets/Index.xml)"},
	} {
		if part.dir == "" {
			return fmt.Errorf("no %s below %s", part.what, filepath.Join(prefix, "share"))
		}
	}
	return nil
}

// firstWith returns the first of the directories below prefix that holds one of
// the files, or "".
func firstWith(prefix string, dirs []string, files ...string) string {
	for _, dir := range dirs {
		for _, file := range files {
			d := filepath.Join(prefix, dir)
			if _, err := os.Stat(filepath.Join(d, file)); err == nil {
				return d
			}
		}
	}
	return ""
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}
