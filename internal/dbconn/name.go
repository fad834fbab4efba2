package dbconn

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the length of the longest name of a database, in characters; see
// https://mariadb.com/kb/en/identifier-names/
const MaxName = 64

// UnfitName says why a database of this name is not made for an application, or "".
func UnfitName(name string) string {
	switch lower := strings.ToLower(name); {
	case SystemSchema(name):
		return "is the server's own"
	case strings.TrimSpace(name) == "" || slices.Contains([]string{".sql", ".sql.gz", ".sql.zst", ".sql.xz", ".sql.bz2", ".sql.zip", ".zip"}, lower):
		return "is no name"
	case utf8.RuneCountInString(name) > MaxName:
		return fmt.Sprintf("is longer than %d characters", MaxName)
	case strings.HasSuffix(name, " "):
		return "ends in a space"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r > 0xffff || unicode.IsControl(r) }):
		return "has characters that no database's name can have"
	}
	return ""
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// PlainName reports whether a database's name needs no quotes anywhere. New databases have such a
// name, so that one chosen from it fits as well.
func PlainName(name string) bool { return plainName.MatchString(name) }

// SystemSchema reports whether a database is the server's own on some server.
func SystemSchema(name string) bool {
	switch strings.ToLower(name) {
	case "mysql", "sys", "performance_schema", "information_schema":
		return true
	}
	return false
}
