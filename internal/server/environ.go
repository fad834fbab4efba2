package server

import (
	"slices"
	"strings"
)

// clientVariables are those by which the client programs take a server to connect to.
var clientVariables = []string{"MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD", "MARIADB_HOST", "MARIADB_TCP_PORT", "MARIADB_UNIX_PORT", "MYSQL_HOME", "MARIADB_HOME"}

// Environ is the environment for a client program, of a caller with the environment env:
// variables of another instance, as ramaria env prints them, would lead it there.
func (p Program) Environ(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(clientVariables, name)
	})
	return append(slices.Clone(p.Env), env...) // the first of a name is the one that counts
}
