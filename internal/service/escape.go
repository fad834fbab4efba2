package service

import (
	"fmt"
	"path/filepath"
	"strings"
)

// specifiers keeps systemd from taking what follows a per cent sign for a specifier: systemd.unit(5).
func specifiers(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quote writes a path or a word for a setting of a unit: systemd.syntax(7).
func quote(s string) string {
	s = specifiers(s)
	if strings.ContainsAny(s, " \t'\"\\;$") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return s
}

// quoteArgument is quote for a command line, in which dollar signs begin variables: systemd.service(5).
func quoteArgument(s string) string { return strings.ReplaceAll(quote(s), "$", "$$") }

// mountUnit is the name of the unit by which systemd knows what is mounted at a path: what
// systemd-escape --path --suffix=mount prints.
func mountUnit(path string) string {
	path = strings.Trim(filepath.Clean(path), "/")
	if path == "" {
		return "-.mount"
	}
	var b strings.Builder
	for i, c := range []byte(path) {
		switch {
		case c == '/':
			b.WriteByte('-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == ':', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + ".mount"
}
