package software

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// want is a parsed --server: a path, or a flavour and as much of a version as matters.
type want struct {
	text    string         // as the user wrote it; "mariadb" if it was empty
	path    string         // of a daemon; the rest is empty then
	family  *server.Family // nil with a path
	version server.Version
	parts   int // how many parts of version count: 0 for any
}

// ErrUsage is what an error matches (errors.Is) when the text that asks for a server cannot ask
// for one: an unknown name, a malformed version, or one that Ramaria does not support.
var ErrUsage = errors.New("wrong usage")

// usageError is an error that matches ErrUsage and reads as it is.
type usageError struct{ error }

func (e usageError) Unwrap() error        { return e.error }
func (e usageError) Is(target error) bool { return target == ErrUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// parseWant reads "", "mariadb", "mysql:9.7" or the path of a daemon. Its errors match ErrUsage.
func parseWant(s string) (want, error) {
	if strings.Contains(s, "/") {
		return want{text: s, path: s}, nil
	}
	if s == "" {
		s = string(server.MariaDB)
	}
	flavour, number, versioned := strings.Cut(s, ":")
	w := want{text: s, family: server.FamilyOf(server.Flavour(flavour))}
	switch {
	case w.family == nil:
		return want{}, usagef("find server %s: unknown server\nhint: use --server mariadb, mysql, mariadb:10.11, or the path of a mariadbd or mysqld with a slash in it", s)
	case !versioned:
		return w, nil
	}
	var err error
	if w.version, err = server.ParseVersion(number); err != nil {
		return want{}, usagef("find server %s: %w\nhint: write the version as in %s", s, err, w.family.Example())
	}
	w.parts = strings.Count(number, ".") + 1
	if w.parts > 3 || strings.Trim(number, "0123456789.") != "" {
		return want{}, usagef("find server %s: %s says more than a release, and ramaria does not tell the builds of one apart\nhint: use --server %s:%s, or the path of its %s",
			s, number, w.family.Flavour, w.version, w.family.Daemons[0])
	}
	// mariadb:10 leaves the series open, and mysql:8.0 the release.
	newest := w.version
	if w.parts < 3 {
		newest.Patch = math.MaxInt
	}
	if w.parts < 2 {
		newest.Minor = math.MaxInt
	}
	if newest.Compare(w.family.Oldest) < 0 {
		return want{}, usagef("find server %s: %s %s is older than %s, the oldest that ramaria supports\nhint: use --server %s, which fetches one if need be",
			s, w.family.Name, number, w.family.Oldest.Series(), w.family.Flavour)
	}
	return w, nil
}

// refuses says why a server is not the one that is wanted, "" if it is.
func (w want) refuses(s *server.Server) string {
	switch {
	case w.family != nil && s.Flavour != w.family.Flavour:
		return fmt.Sprintf("it is %s %s, not %s", s.Family().Name, s.Version, w.text)
	case !w.matches(s.Version):
		return fmt.Sprintf("it is version %s, not %s", s.Version, w.text)
	}
	return ""
}

// matches reports whether v, of the wanted flavour, is wanted.
func (w want) matches(v server.Version) bool {
	return (w.parts < 1 || v.Major == w.version.Major) &&
		(w.parts < 2 || v.Minor == w.version.Minor) &&
		(w.parts < 3 || v.Patch == w.version.Patch)
}

// Fulfils reports whether s is a server that text asks for, as --server has it.
func Fulfils(s *server.Server, text string) (bool, error) {
	w, err := parseWant(text)
	switch {
	case err != nil:
		return false, err
	case w.path != "":
		return sameFile(s.Daemon.Path(), w.path), nil
	}
	return w.refuses(s) == "", nil
}

// Narrower reports whether every server that was asked for by was is one that now asks
// for too: mariadb:11.4 and mariadb.
func Narrower(was, now string) (bool, error) {
	a, err := parseWant(was)
	if err != nil {
		return false, err
	}
	b, err := parseWant(now)
	if err != nil {
		return false, err
	}
	if a.path != "" || b.path != "" {
		return a.path == b.path, nil
	}
	return a.family == b.family && a.parts >= b.parts && b.matches(a.version), nil
}
