// Package server knows the database software: which flavours and versions there
// are, how they are configured, bootstrapped, started, known to be ready, and
// stopped. It is the only package that knows how MariaDB differs from MySQL, or one
// version from another. Package software finds and fetches them.
package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Flavour is a family of servers.
type Flavour string

// The flavours.
const (
	MariaDB Flavour = "mariadb"
	MySQL   Flavour = "mysql"
)

// Version is a release number such as 10.11.19. MySQL's are of the calendar after 9.7, year and
// month: 26.7.0, then 26.10.0.
type Version struct {
	Major, Minor, Patch int
}

// String returns the dotted form.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Series returns the first two parts, 10.11: releases of one series share their
// options and file formats.
func (v Version) Series() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Compare returns -1, 0 or 1.
func (v Version) Compare(w Version) int {
	for _, d := range []int{v.Major - w.Major, v.Minor - w.Minor, v.Patch - w.Patch} {
		if d < 0 {
			return -1
		}
		if d > 0 {
			return 1
		}
	}
	return 0
}

// MarshalText writes the dotted form, for JSON.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what ParseVersion does.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// falseVersion is what MariaDB before 11.0 says to clients ahead of its version, for the sake of
// replicas that take the first digit for all of it. https://mariadb.com/kb/en/connection/
const falseVersion = "5.5.5-"

// ParseVersion reads 10.11.19, 10.11 or 11; missing parts are zero. A fourth part tells builds of one release
// apart, which share options and file formats, and is left out: MySQL from 26.10 on has it
// (26.10.0.1), MariaDB Enterprise (10.6.22-18) and Percona (8.0.36-28) after a dash. So is whatever
// else follows the numbers (-MariaDB-0+deb12u1, -debug).
func ParseVersion(s string) (Version, error) {
	text := s
	if rest, ok := strings.CutPrefix(s, falseVersion); ok && strings.Contains(rest, ".") {
		text = rest
	}
	if end := strings.IndexAny(text, "-+~ "); end >= 0 {
		text = text[:end]
	}
	var n [4]int
	parts := strings.Split(text, ".")
	if len(parts) > len(n) {
		return Version{}, fmt.Errorf("parse version %q: too many parts", s)
	}
	for i, p := range parts {
		x, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return Version{}, fmt.Errorf("parse version %q: %q is not a number", s, p)
		}
		n[i] = int(x)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// OriginPath is the Origin of a server that was not fetched.
const OriginPath = "path"

// Server is one installed server: the software, not a running process.
type Server struct {
	Flavour Flavour `json:"flavour"`
	Version Version `json:"version"`
	// Origin says where it came from, for people: "path", "apt", "debian-sid", "maven".
	Origin string `json:"origin"`
	// Dir is the directory of a fetched server, or that of the daemon's binary.
	Dir string `json:"dir"`

	Daemon Program `json:"daemon"` // mariadbd
	Client Program `json:"client"` // mariadb; Argv is empty when it was not found
	// Dumper is mariadb-dump, and LogReader mariadb-binlog; Argv is empty as above.
	Dumper    Program `json:"dumper"`
	LogReader Program `json:"log_reader"`

	// Share holds the bootstrap SQL (mysql_system_tables.sql, ...), "" where the daemon
	// needs none; Messages the directory with the language folders; Charsets the
	// character set files; Plugins the plugin directory ("" where the built-in default is
	// right).
	Share    string `json:"share"`
	Messages string `json:"messages"`
	Charsets string `json:"charsets"`
	Plugins  string `json:"plugins"`
}

// NoClient is the error of a server that was found without its client program.
func (s *Server) NoClient() error {
	return fmt.Errorf("%s in %s: %w\nhint: install its package of clients, or ramaria server fetch %s", s.Name(), s.Dir, ErrNoClient, s.Flavour)
}

// ErrNoClient says that a server was found without its client program.
var ErrNoClient = errors.New("it has no client program beside it")

// Name returns flavour and version, mariadb-10.11.19: the name of its directory
// in the cache and the part that it plays in the identity of an image.
func (s *Server) Name() string { return string(s.Flavour) + "-" + s.Version.String() }
