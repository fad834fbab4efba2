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

// A table counts as one until a statement may have made another of that name, or given it another engine. Whoever forgets too
// much of them has the recovery refused: keeps are how statements begin that do neither, alters how one begins that does if
// it has one of the words changes, and remakes are words of others that may.
var (
	keeps = regexp.MustCompile(statementBegins + `(?:CREATE\s+(?:OR\s+REPLACE\s+)?(?:DEFINER|ALGORITHM|SQL\s+SECURITY|AGGREGATE|VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|PACKAGE|USER|ROLE|(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)?INDEX)|` +
		`DROP\s+(?:INDEX|VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|PACKAGE|USER|ROLE))\b`)
	alters  = regexp.MustCompile(statementBegins + `ALTER\s+TABLE\b`)
	changes = regexp.MustCompile(`(?i)(?:\b|[0-9])(?:ENGINE|RENAME|EXCHANGE|CONVERT)\b`)
	remakes = regexp.MustCompile(`(?i)(?:\b|[0-9])(?:CREATE|DROP|ENGINE|RENAME|EXCHANGE|CONVERT)\b`)
)

// statementBegins passes over comments, but for those that servers execute.
const statementBegins = `(?is)^\s*(?:/\*[^!M].*?\*/\s*)*`

// emptied adds the groups that change rows of nothing but tables of Emptied.
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
	words := remakes
	if alters.Match(sql) {
		words = changes
	}
	if keeps.Match(sql) || !words.Match(sql) {
		return false
	}
	schema, name, _ := strings.Cut(table, ".")
	text := bytes.ToLower(sql)
	ofSchema := bytes.Contains(text, []byte("database")) || bytes.Contains(text, []byte("schema"))
	return binlog.MayName(text, name) || ofSchema && binlog.MayName(text, schema)
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
