package software

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
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

// findParts fills in Share, Messages, Charsets and Plugins of a server from the files below
// prefix. Without what its flavour needs of them a server cannot be used.
func findParts(s *server.Server, prefix string) error {
	type part struct{ dir, what string }
	var parts []part
	// MySQL's own packages put the series into the name.
	shares := append([]string{"share/" + string(s.Flavour) + "-" + s.Version.Series()}, shareDirs...)
	// Percona's say percona-server, and Fedora's mysql8.4.
	for _, pattern := range []string{"share/" + string(s.Flavour) + s.Version.Series(), "share/percona-server*"} {
		found, _ := sys.Glob(prefix, pattern) // the pattern is right
		for _, dir := range found {
			shares = append(shares, strings.TrimPrefix(dir, prefix))
		}
	}
	if names := s.Family().BootstrapFile(); len(names) > 0 {
		s.Share = firstWith(prefix, shares, names...)
		parts = append(parts, part{s.Share, "bootstrap files (" + names[0] + ")"})
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
