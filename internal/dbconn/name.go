package dbconn

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDatabaseName is the longest name of a database, in characters; see
// https://mariadb.com/kb/en/identifier-names/
const maxDatabaseName = 64

// UnfitName says why a database of this name is not made for an application, or "".
func UnfitName(name string) string {
	switch lower := strings.ToLower(name); {
	case SystemSchema(name):
		return "is the server's own"
	case strings.TrimSpace(name) == "" || slices.Contains([]string{".sql", ".sql.gz", ".sql.zst", ".sql.xz"}, lower):
		return "is no name"
	case utf8.RuneCountInString(name) > maxDatabaseName:
		return fmt.Sprintf("is longer than %d characters", maxDatabaseName)
	case strings.HasSuffix(name, " "):
		return "ends in a space"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r > 0xffff || unicode.IsControl(r) }):
		return "has characters that no database's name can have"
	}
	return ""
}

// SystemSchema reports whether a database is the server's own on some server.
func SystemSchema(name string) bool {
	switch strings.ToLower(name) {
	case "mysql", "sys", "performance_schema", "information_schema":
		return true
	}
	return false
}
