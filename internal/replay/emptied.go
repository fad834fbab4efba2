package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Tables of engine MEMORY are empty when a server starts, and so is what a base backup has of them. Rows that the log
// then updates or deletes are not there, which an applier refuses. Since the next start empties these tables once more,
// what the log does to their rows is left out.

// remakes are words of statements that may make another table of that name, or give it another engine.
var remakes = [][]byte{[]byte("CREATE"), []byte("DROP"), []byte("RENAME"), []byte("ENGINE"), []byte("EXCHANGE"), []byte("CONVERT")}

// emptied adds the groups that change rows of nothing but tables of Emptied. A table counts as one until a statement that
// names it may make it another.
func (j *Job) emptied(out groups) error {
	left := slices.Clone(j.Emptied)
	for _, l := range j.Logs {
		if len(left) == 0 {
			break
		}
		_, err := binlog.ScanUnbound(l.Path, func(u binlog.Unbound) error {
			switch {
			case u.Start < l.From:
				return nil
			case l.To > 0 && u.Start >= l.To:
				return errEnough
			case u.Kind == binlog.Statement:
				left = slices.DeleteFunc(left, func(table string) bool { return mayRemake(u.SQL, table) })
				return nil
			}
			for _, table := range u.Tables {
				if !slices.Contains(left, table) {
					return nil
				}
			}
			if len(u.Tables) > 0 {
				out.add(l.Path, u.Start)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// mayRemake reports whether a statement may make SCHEMA.TABLE a table of another engine.
func mayRemake(sql []byte, table string) bool {
	schema, name, _ := strings.Cut(table, ".")
	text := bytes.ToUpper(sql)
	has := func(word string) bool { return bytes.Contains(text, bytes.ToUpper([]byte(word))) }
	return slices.ContainsFunc(remakes, func(word []byte) bool { return bytes.Contains(text, word) }) && (has(name) || has(schema) && (has("DATABASE") || has("SCHEMA")))
}

// versionedTruncate is what MariaDB answers to a TRUNCATE of a table with system versioning, and refusedTruncate finds the
// name in its answer, as it quotes it.
const versionedTruncate = 4137

var refusedTruncate = regexp.MustCompile("'TRUNCATE TABLE (`(?:[^`]|``)+`\\.`(?:[^`]|``)+`)")

// emptyVersioned empties a table of engine MEMORY as the log says, and has the applier go on behind. A start of MariaDB
// that empties such a table logs a TRUNCATE, which it then refuses where the table has system versioning. Of one with a
// trigger for DELETE the rows cannot be deleted without it: that stays an error.
func (s *session) emptyVersioned(ctx context.Context, state dbconn.ApplierState) (bool, error) {
	if state.Errno != versionedTruncate {
		return false, nil
	}
	found := refusedTruncate.FindStringSubmatch(state.Text)
	if found == nil {
		return false, nil
	}
	table := found[1]
	var triggers int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_MANIPULATION = 'DELETE' AND"+
		" CONCAT('`', REPLACE(EVENT_OBJECT_SCHEMA, '`', '``'), '`.`', REPLACE(EVENT_OBJECT_TABLE, '`', '``'), '`') = ?", table).Scan(&triggers)
	if err != nil || triggers > 0 {
		return false, err
	}
	if err := dbconn.ExecUnlogged(ctx, s.db, "DELETE FROM "+table, "DELETE HISTORY FROM "+table); err != nil {
		return false, fmt.Errorf("empty a table of engine MEMORY: %w", err)
	}
	return true, s.goOnBehind(ctx)
}
