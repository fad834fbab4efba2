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
)

// findParts fills in Share, Messages, Charsets and Plugins from the files below
// prefix. Without what its flavour needs of them a server cannot be used.
func (s *Server) findParts(prefix string) error {
	type part struct{ dir, what string }
	var parts []part
	// MySQL's own packages put the series into the name.
	shares := append([]string{"share/" + string(s.Flavour) + "-" + s.Version.Series()}, shareDirs...)
	if b := s.family().bootstrap; len(b) > 0 {
		s.Share = firstWith(prefix, shares, b[0].names...)
		parts = append(parts, part{s.Share, "bootstrap files (" + b[0].names[0] + ")"})
	}
	s.Messages = firstWith(prefix, shares, "english/errmsg.sys")
	if dir := firstWith(prefix, shares, "charsets/Index.xml"); dir != "" {
		s.Charsets = filepath.Join(dir, "charsets")
	}
	s.Plugins = firstWith(prefix, pluginDirs, ".")
	parts = append(parts, part{s.Messages, "messages (english/errmsg.sys)"}, part{s.Charsets, "character sets (charsets/Index.xml)"})
	for _, p := range parts {
		if p.dir == "" {
			return fmt.Errorf("no %s below %s", p.what, filepath.Join(prefix, "share"))
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

// Missing is the first file of the program that is not there any more, "" if it can be run,
// or has never been there.
func (p Program) Missing() string {
	if len(p.Argv) == 0 {
		return ""
	}
	for _, path := range []string{p.Argv[0], p.Path()} {
		if !executable(path) {
			return path
		}
	}
	return ""
}

// Missing is the same of all programs of a server.
func (s *Server) Missing() string {
	for _, p := range s.programs() {
		if path := p.Missing(); path != "" {
			return path
		}
	}
	return ""
}

// executable reports whether path is a file that may be run.
func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}
