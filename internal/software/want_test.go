package software

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

func TestParseWant(t *testing.T) {
	for _, c := range []struct {
		text, err string
		yes, no   string // versions
	}{
		{text: "", yes: "11.8.1"},
		{text: "mariadb", yes: "10.6.1"},
		{text: "mariadb:10.11", yes: "10.11.19", no: "10.6.19"},
		{text: "mariadb:11", yes: "11.4.5", no: "12.0.1"},
		{text: "mariadb:10", yes: "10.11.5", no: "11.0.1"},
		{text: "mariadb:11.4.5", yes: "11.4.5", no: "11.4.6"},
		{text: "mysql", yes: "8.0.36"},
		{text: "mysql:9.7", yes: "9.7.4", no: "9.6.0"},
		{text: "mysql:26", yes: "26.10.0", no: "9.7.4"},
		{text: "mysql:26.1", yes: "26.1.3", no: "26.10.0"},
		{text: "mysql:26.10", yes: "26.10.0.1", no: "26.1.0"},
		{text: "mysql:26.10.0", yes: "26.10.0.2", no: "26.10.1"},
		{text: "mariadb:12", yes: "12.3.2", no: "13.0.1"},
		{text: "mariadb:13.0", yes: "13.0.1-MariaDB", no: "12.3.2"},
		{text: "mysql:26.10.0.1", err: "26.10.0.1 says more than a release, and ramaria does not tell the builds of one apart\nhint: use --server mysql:26.10.0, or the path of its mysqld"},
		{text: "mysql:8.0.36-28", err: "hint: use --server mysql:8.0.36, or"},
		{text: "mariadb:10.6.22-18", err: "hint: use --server mariadb:10.6.22, or"},
		{text: "mariadb:11.8.2-MariaDB-log", err: "hint: use --server mariadb:11.8.2, or"},
		{text: "mysql:26.10.0.1.2", err: "too many parts"},
		{text: "mysql:+8.0", err: `"+8.0": "" is not a number`},
		{text: "mysql:8..4", err: `"" is not a number`},
		{text: "mysql:5.7", err: "MySQL 5.7 is older than 8.0"},
		{text: "postgres", err: "unknown server"},
		{text: "mariadb:x", err: "not a number"},
		{text: "mariadb:", err: "not a number"},
		{text: "mariadb:10.5", err: "older than 10.6"},
		{text: "mariadb:5", err: "older than 10.6"},
	} {
		w, err := parseWant(c.text)
		if c.err != "" {
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "\nhint: ") {
				t.Errorf("%q: error %v", c.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if v, _ := server.ParseVersion(c.yes); !w.matches(v) {
			t.Errorf("%q does not match %s", c.text, c.yes)
		}
		if v, _ := server.ParseVersion(c.no); c.no != "" && w.matches(v) {
			t.Errorf("%q matches %s", c.text, c.no)
		}
	}
}

func TestParseVersionText(t *testing.T) {
	for _, c := range []struct {
		text, want, err string
		flavour         server.Flavour
	}{
		{text: "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", want: "10.11.19", flavour: server.MariaDB},
		{text: "/usr/sbin/mysqld  Ver 10.6.16-MariaDB-0ubuntu0.22.04.1 for debian-linux-gnu on x86_64 (Ubuntu 22.04)", want: "10.6.16", flavour: server.MariaDB},
		{text: "/x/bin/mariadbd  Ver 11.4.5-MariaDB for linux-systemd on x86_64 (MariaDB Server)", want: "11.4.5", flavour: server.MariaDB},
		{text: "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", want: "8.0.36", flavour: server.MySQL},
		{text: "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)", want: "8.0.36", flavour: server.MySQL},
		{text: "/opt/mariadb/bin/mariadbd  Ver 10.6.22-18-MariaDB-enterprise for Linux on x86_64 (MariaDB Enterprise Server)", want: "10.6.22", flavour: server.MariaDB},
		{text: "mariadbd  Ver 11.8.3-MariaDB-ubu2404-log for debian-linux-gnu on x86_64 (mariadb.org binary distribution)", want: "11.8.3", flavour: server.MariaDB},
		{text: "mariadbd  Ver 12.3.2-MariaDB-debug for Linux on x86_64 (Source distribution)", want: "12.3.2", flavour: server.MariaDB},
		{text: "mariadbd  Ver 13.0.1-MariaDB for Linux on x86_64 (MariaDB Server)", want: "13.0.1", flavour: server.MariaDB},
		{text: "/usr/sbin/mysqld  Ver 8.4.6-debug for Linux on x86_64 (MySQL Community Server - GPL - Debug)", want: "8.4.6", flavour: server.MySQL},
		{text: "/usr/sbin/mysqld  Ver 8.0.43-cluster for Linux on x86_64 (MySQL Cluster Community Server - GPL)", want: "8.0.43", flavour: server.MySQL},
		{text: "/usr/sbin/mysqld  Ver 26.7.0 for Linux on x86_64 (MySQL Community Server - GPL)", want: "26.7.0", flavour: server.MySQL},
		{text: "/usr/sbin/mysqld  Ver 26.10.0.1 for Linux on x86_64 (MySQL Community Server - GPL)", want: "26.10.0", flavour: server.MySQL},
		{text: "mysql  Ver 15.1 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64) using  EditLine wrapper", want: "0.0.0", err: "no version"},
		{text: "hello", want: "0.0.0", err: "no version"},
	} {
		f, v, err := parseVersionText(c.text)
		if v.String() != c.want || (err == nil) != (c.err == "") {
			t.Errorf("%q: %s, %v", c.text, v, err)
		}
		if f != server.FamilyOf(c.flavour) {
			t.Errorf("%q: flavour of %+v", c.text, f)
		}
	}
}
