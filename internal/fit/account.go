package fit

import (
	"cmp"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// ofAccounts reports whether a statement is about accounts, or about the server's own databases, and counts it.
func (f *Fit) ofAccounts(meant []byte) bool {
	w := dump.NewWalk(meant)
	first, second := w.Next(), w.Next()
	account := second.Is("user") || second.Is("role")
	switch {
	case first.Is("create") && second.Is("or"):
		w.Next()
		account = w.Peek().Is("user") || w.Peek().Is("role")
		fallthrough
	case first.Is("create"), first.Is("alter"), first.Is("drop"), first.Is("rename"):
		if account {
			f.notes.add(ofAccounts, "CREATE, ALTER and DROP USER")
			return true
		}
	case first.Is("grant"), first.Is("revoke"):
		f.notes.add(ofAccounts, "GRANT and REVOKE")
		return true
	case first.Is("flush"):
		return second.Is("privileges")
	case first.Is("set") && (second.Is("password") || second.Is("default") && w.Peek().Is("role") || second.Is("role")):
		f.notes.add(ofAccounts, "SET PASSWORD and roles")
		return true
	case first.Is("set"):
		return false
	}
	database := dump.DatabaseOf(meant)
	if dbconn.SystemSchema(cmp.Or(database, f.database)) && !slices.ContainsFunc([]string{"use", "set"}, first.Is) {
		f.notes.add(ofAccounts, "the database mysql")
		return true
	}
	return false
}
