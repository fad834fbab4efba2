package load

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// transaction is the one that the dump has open; its statements are carried out one by one.
type transaction struct {
	// begun says that there was a BEGIN, manual that autocommit is off.
	begun, manual bool
	// line is where it has changed something first, 0 if it has not.
	line int
}

// commit ends it; without autocommit the next one is open.
func (t *transaction) commit() { t.begun, t.line = false, 0 }

// changed notes that there is something to commit.
func (t *transaction) changed(line int) {
	if (t.begun || t.manual) && t.line == 0 {
		t.line = line
	}
}

// note takes note of a statement that is neither SET, nor about transactions.
// https://mariadb.com/kb/en/sql-statements-that-cause-an-implicit-commit/
func (t *transaction) note(kind dump.StatementKind, line int, text []byte) {
	switch kind {
	case dump.StatementRows:
		t.changed(line)
	case dump.StatementUnknown:
		word, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
		if slices.Contains([]string{"call", "execute", "insert", "replace", "update", "delete"}, strings.ToLower(string(word))) {
			t.changed(line)
		}
	case dump.StatementQuery:
	default:
		t.commit()
	}
}
