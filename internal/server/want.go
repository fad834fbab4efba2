package server

import (
	"errors"
	"fmt"
	"strings"
)

// Oldest is the oldest MariaDB that is supported: 10.6, the oldest series that its
// makers still care for.
var Oldest = Version{Major: 10, Minor: 6}

// ErrMySQL says that a server is MySQL, which cannot be used yet.
var ErrMySQL = errors.New("MySQL comes in a later version of ramaria")

// want is a parsed --server: a path, or a flavour and as much of a version as matters.
type want struct {
	text    string // as the user wrote it; "mariadb" if it was empty
	path    string // of a daemon; the rest is empty then
	version Version
	parts   int // how many parts of version count: 0 for any
}

// parseWant reads "", "mariadb", "mariadb:10.11" or the path of a daemon.
func parseWant(s string) (want, error) {
	if strings.Contains(s, "/") {
		return want{text: s, path: s}, nil
	}
	if s == "" {
		s = string(MariaDB)
	}
	flavour, number, versioned := strings.Cut(s, ":")
	switch {
	case flavour == "mysql":
		return want{}, fmt.Errorf("find server %s: %w\nhint: use --server mariadb", s, ErrMySQL)
	case flavour != string(MariaDB):
		return want{}, fmt.Errorf("find server %s: unknown server\nhint: use --server mariadb, mariadb:10.11, or the path of a mariadbd with a slash in it", s)
	case !versioned:
		return want{text: s}, nil
	}
	v, err := ParseVersion(number)
	if err != nil {
		return want{}, fmt.Errorf("find server %s: %w\nhint: write the version as in mariadb:10.11", s, err)
	}
	w := want{text: s, version: v, parts: strings.Count(number, ".") + 1}
	// mariadb:10 leaves the series open, so only a whole series can be too old.
	if w.parts > 1 && v.Compare(Oldest) < 0 || v.Major < Oldest.Major {
		return want{}, fmt.Errorf("find server %s: %s", s, tooOld(number))
	}
	return w, nil
}

// tooOld is the rest of an error about a version that is not supported.
func tooOld(v string) string {
	return fmt.Sprintf("MariaDB %s is older than %s, the oldest that ramaria supports\nhint: use --server mariadb, which fetches one if need be", v, Oldest.Series())
}

// matches reports whether v is wanted.
func (w want) matches(v Version) bool {
	return (w.parts < 1 || v.Major == w.version.Major) &&
		(w.parts < 2 || v.Minor == w.version.Minor) &&
		(w.parts < 3 || v.Patch == w.version.Patch)
}
