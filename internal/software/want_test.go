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
