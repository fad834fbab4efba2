package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// dropTries is how often a lock may stand in the way of dropping a database. InnoDB itself
// holds some for a while: it counts the rows of new tables behind everybody's back.
const dropTries = 5

// Drop removes a database, if it is there, from the server with the given data directory; without
// one, a database in which broken triggers stand in the way stays. What MySQL leaves of its directory,
// where files were copied and not imported, is removed when it is dropped again, or cloned.
func Drop(ctx context.Context, conn *sql.Conn, name, dataDir string) error {
	for try := 1; ; try++ {
		_, err := conn.ExecContext(ctx, "DROP DATABASE IF EXISTS "+dbconn.QuoteName(name))
		if err == nil {
			return nil
		}
		if dbconn.DirectoryStays(err) && dataDir != "" {
			return removeStranded(dataDir, name)
		}
		again := dbconn.LockTimeout(err)
		switch {
		case try == dropTries:
			again = false
		case dbconn.ReadOnlyDatabase(err):
			_, err = conn.ExecContext(ctx, "ALTER DATABASE "+dbconn.QuoteName(name)+" READ ONLY = 0")
			again = err == nil
		case dbconn.BrokenTriggers(err) && dataDir != "":
			cause := err
			if again, err = removeTriggers(dataDir, name); !again {
				err = errors.Join(cause, err)
			}
		}
		if !again {
			return fmt.Errorf("drop database %s: %w", name, err)
		}
	}
}

// removeStranded removes the directory of a database that is not there. MySQL leaves it behind with the
// copies of files that were not imported yet: it takes the tables for such as have none.
func removeStranded(dataDir, name string) error {
	if !plainName.MatchString(name) { // of which no files are copied
		return nil
	}
	root, err := os.OpenRoot(dataDir)
	if err != nil {
		return err
	}
	return errors.Join(root.RemoveAll(name), root.Close())
}

// triggerSuffixes are those of the files in which MariaDB keeps the triggers of a table, and the
// table of a trigger. A RENAME TABLE of several that is killed can leave such files damaged, or
// behind, and nothing in SQL removes them then.
var triggerSuffixes = []string{".TRG", ".TRN", ".TRG~", ".TRN~"}

// removeTriggers removes the files of all triggers of a database, and reports whether there were some.
func removeTriggers(dataDir, name string) (some bool, err error) {
	data, err := sys.OpenDir(dataDir)
	if err != nil {
		return false, err
	}
	defer data.CloseWith(&err)
	dir, err := data.Dir(name)
	if err != nil {
		return false, err
	}
	defer dir.CloseWith(&err)
	files, err := dir.Names()
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if slices.Contains(triggerSuffixes, filepath.Ext(file)) {
			if err := dir.Remove(file); err != nil {
				return false, err
			}
			some = true
		}
	}
	return some, nil
}

// dataDir is the data directory of the server, empty if it is not known.
func (s *Shape) dataDir() string {
	if s.Files == nil {
		return ""
	}
	return s.Files.DataDir
}
