package fit

import (
	"bytes"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

var invisible = []byte("INVISIBLE")

// visible tells of a table with columns that a comment for other servers has invisible, as the primary keys that MySQL generates:
// here SELECT * shows them.
func (f *Fit) visible(text, meant []byte) {
	if !bytes.Contains(text, invisible) || bytes.Contains(meant, invisible) {
		return
	}
	if class := dump.Classify(meant, ";"); class.Kind == dump.StatementCreateTable {
		f.notes.add(ofVisible, class.Table)
	}
}

// InSystem says that the current database is one of the server's own.
func (f *Fit) InSystem() bool { return dbconn.SystemSchema(f.database) }
