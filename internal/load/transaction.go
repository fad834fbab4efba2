package load

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// transaction is the one that the dump has open; its statements are carried out one by one.
type transaction struct {
	// begun says that there was a BEGIN, manual that autocommit is off.
	begun, manual bool
	// locked says that tables are locked.
	locked bool
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
		if slices.Contains([]string{"call", "execute", "insert", "replace", "update", "delete"}, strings.ToLower(dump.FirstWord(text))) {
			t.changed(line)
		}
	case dump.StatementQuery, dump.StatementUnlock, dump.StatementSavepoint:
	case dump.StatementOther:
		// SET GLOBAL and DO commit nothing.
		if word := dump.FirstWord(text); !strings.EqualFold(word, "set") && !strings.EqualFold(word, "do") {
			t.commit()
		}
	default:
		t.commit()
	}
}
