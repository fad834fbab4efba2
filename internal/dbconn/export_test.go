package dbconn

import (
	"database/sql"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// OpenBare is Open for sessions that set nothing.
func OpenBare(path string, login Login) (*sql.DB, error) {
	return open(path, login, "", nil, func(*mysql.Config) {})
}

// Set are the names of the variables that sessions of a kind set.
func Set(d Dialect, kind string) []string {
	lists := [][]Variable{basis, language, d.Unlogged}
	switch kind {
	case "own":
		lists = lists[:2]
	case "loading":
		lists = lists[:1]
	}
	names := []string{"transaction_isolation", "tx_isolation", "transaction_read_only", "tx_read_only"}
	for _, list := range lists {
		for _, v := range list {
			names = append(names, v.Name)
		}
	}
	return names
}

// SetTwice are the variables that a list sets more than once on the servers of a flavour.
func SetTwice(mysql bool) (names []string) {
	for _, list := range [][]Variable{basis, language} {
		seen := map[string]bool{}
		for _, v := range list {
			if v.Since != "" && strings.HasPrefix(v.Since, "M!") == mysql {
				continue
			}
			if seen[v.Name] {
				names = append(names, v.Name)
			}
			seen[v.Name] = true
		}
	}
	return names
}

// HolderLine is the line of BesideLog of a holder.
func HolderLine(h Holder) string {
	name, how := h.line()
	return name + beside + how
}
