package corpus

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// changes is how many statements change a clone.
const changes = 16

// changers are statements on a table, {T}, and its first column by name, {C}.
var changers = []string{
	"DELETE FROM {T} LIMIT 2", "UPDATE {T} SET {C} = {C} + 1 LIMIT 3", "INSERT IGNORE INTO {T} SELECT * FROM {T} LIMIT 2",
	"ALTER TABLE {T} ADD COLUMN added_by_corpus int DEFAULT 7", "TRUNCATE TABLE {T}", "DROP TABLE {T}", "ALTER TABLE {T} COMMENT = 'changed'",
	"CREATE OR REPLACE VIEW made_by_corpus AS SELECT * FROM {T}", "CREATE TABLE IF NOT EXISTS copied_by_corpus LIKE {T}", "DELETE FROM {T}",
	"REPLACE INTO {T} SELECT * FROM {T}", "ALTER TABLE {T} RENAME TO renamed_by_corpus", "CREATE INDEX made_by_corpus ON {T} ({C})", "ALTER TABLE {T} AUTO_INCREMENT = 5000",
}

// change changes a database at random, the same way each time. What the server refuses is nothing.
func (c *check) change(ctx context.Context, database string) error {
	return c.within(ctx, database, func(conn *sql.Conn) error { return c.changeBy(ctx, conn, database) })
}

func (c *check) changeBy(ctx context.Context, conn *sql.Conn, database string) error {
	h := fnv.New64()
	h.Write([]byte(c.in.name)) // never fails
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	if _, err := conn.ExecContext(ctx, "SET foreign_key_checks=0"); err != nil {
		return err
	}
	l := picture.NewLooker(ctx, conn, database)
	tables := l.Ask("SELECT TABLE_NAME, MIN(COLUMN_NAME) FROM information_schema.COLUMNS JOIN information_schema.TABLES USING (TABLE_SCHEMA, TABLE_NAME) " +
		"WHERE TABLE_SCHEMA='" + database + "' AND TABLE_TYPE='BASE TABLE' GROUP BY TABLE_NAME ORDER BY TABLE_NAME").Rows
	if err := errors.Join(l.Err(), dropPrograms(ctx, l, database)); err != nil {
		return err
	}
	taken := 0
	for range changes {
		if len(tables) == 0 {
			break
		}
		at := tables[r.IntN(len(tables))]
		text := changers[r.IntN(len(changers))]
		text = strings.NewReplacer("{T}", dbconn.QuoteName(at[0]), "{C}", dbconn.QuoteName(at[1])).Replace(text)
		_, err := conn.ExecContext(ctx, text)
		if err == nil {
			taken++
		} else if picture.Number(err) == 0 {
			return err
		}
	}
	if taken == 0 && len(tables) > 0 {
		return errors.New("the server took none of the changes: this tests nothing")
	}
	return nil
}

// dropPrograms drops a view, a routine, a trigger and an event, of each the first.
func dropPrograms(ctx context.Context, l *picture.Looker, database string) error {
	for kind, query := range map[string]string{
		"VIEW":      "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA=",
		"PROCEDURE": "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE='PROCEDURE' AND ROUTINE_SCHEMA=",
		"TRIGGER":   "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA=",
		"EVENT":     "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA=",
	} {
		for _, row := range l.Ask(query + "'" + database + "' ORDER BY 1 LIMIT 1").Rows {
			l.Ask("DROP " + kind + " " + dbconn.QuoteName(row[0]))
		}
	}
	return l.Err()
}
