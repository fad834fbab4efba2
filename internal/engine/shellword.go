package engine

import (
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// ShellWord is a word as POSIX shells take it, for commands in hints: quoted where that is needed.
func ShellWord(s string) string {
	const plain = "_-./:,=+@%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return server.ShellQuote(s)
	}
	return s
}
