package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// InnoDBWork is what InnoDB is at that comes to its end by itself, and holds locks until then.
type InnoDBWork struct {
	// RollsBack says that it rolls a transaction back. Of one whose connection has ended no list of
	// sessions tells.
	RollsBack bool
	// Purge is how far the purge of deleted rows is, "" if it is not at work.
	Purge string
}

// InnoDBWork asks InnoDB's own report.
// https://dev.mysql.com/doc/refman/8.4/en/innodb-standard-monitor.html
func (d Dialect) InnoDBWork(ctx context.Context, conn *sql.Conn) (InnoDBWork, error) {
	var work InnoDBWork
	if err := Ask(ctx, conn, Question{Text: "SHOW ENGINE INNODB STATUS", Row: func(rows *sql.Rows) error {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return err
		}
		work = parseWork(text)
		return nil
	}}); err != nil {
		return work, fmt.Errorf("ask what InnoDB is at: %w", err)
	}
	return work, nil
}

func parseWork(report string) InnoDBWork {
	var work InnoDBWork
	for line := range strings.Lines(report) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "ROLLING BACK "):
			work.RollsBack = true
		case strings.HasPrefix(line, "Purge done for ") && strings.HasSuffix(line, " state: running"):
			work.Purge = line
		}
	}
	return work
}
