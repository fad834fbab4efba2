package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataDirOf makes a directory with files, and directories whose names end in a slash.
func dataDirOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// redo is the head of a redo log that says who made it.
func redo(creator string) string {
	b := make([]byte, 512)
	copy(b[redoCreatorAt:], creator)
	return string(b)
}

func TestMaker(t *testing.T) {
	v := func(major, minor, patch int) Version {
		return Version{Major: major, Minor: minor, Patch: patch}
	}
	for name, c := range map[string]struct {
		files   map[string]string
		flavour Flavour
		version Version
	}{
		"mysql 8":                   {map[string]string{"mysql.ibd": "", "ib_logfile0": redo("MariaDB 10.11.6")}, MySQL, v(0, 0, 0)},
		"mysql 8.4":                 {map[string]string{"mysql.ibd": "12345678\x00\x01\x3a\x14", "ib_logfile0": ""}, MySQL, v(8, 4, 4)},
		"mysql 26.10":               {map[string]string{"mysql.ibd": "12345678\x00\x03\xfb\x89"}, MySQL, v(26, 10, 1)},
		"mysql 8.0.30":              {map[string]string{"#innodb_redo/": ""}, MySQL, v(0, 0, 0)},
		"mysql 5.7":                 {map[string]string{"ib_logfile0": redo("MySQL 5.7.44")}, MySQL, v(5, 7, 44)},
		"upgrade info":              {map[string]string{"mariadb_upgrade_info": "11.4.5-MariaDB\x00"}, MariaDB, v(11, 4, 5)},
		"upgrade info, enterprise":  {map[string]string{"mariadb_upgrade_info": "10.6.22-18-MariaDB\n"}, MariaDB, v(10, 6, 22)},
		"old upgrade info":          {map[string]string{"mysql_upgrade_info": "10.6.1-MariaDB"}, MariaDB, v(10, 6, 1)},
		"mysql's upgrade info":      {map[string]string{"mysql_upgrade_info": "5.7.44"}, "", v(0, 0, 0)},
		"redo log":                  {map[string]string{"ib_logfile0": redo("MariaDB 10.11.6")}, MariaDB, v(10, 11, 6)},
		"redo log of mariabackup":   {map[string]string{"ib_logfile0": redo("Backup 10.11.6-MariaDB")}, "", v(0, 0, 0)},
		"a redo log that is cut":    {map[string]string{"ib_logfile0": "short"}, "", v(0, 0, 0)},
		"nothing that would say it": {map[string]string{"ibdata1": ""}, "", v(0, 0, 0)},
	} {
		m := MakerOf(dataDirOf(t, c.files))
		if m.Flavour != c.flavour || m.Version != c.version {
			t.Errorf("%s: got %q %s, want %q %s", name, m.Flavour, m.Version, c.flavour, c.version)
		}
	}
}
