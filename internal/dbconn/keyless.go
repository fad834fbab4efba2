package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Keyless reports whether a table is one of InnoDB without a primary or unique key; false for one that is not there.
func Keyless(ctx context.Context, db *sql.DB, schema, table string) (bool, error) {
	var unique int
	err := db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM information_schema.statistics s WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.non_unique = 0)
		FROM information_schema.tables t WHERE t.table_schema = ? AND t.table_name = ? AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND t.engine = 'InnoDB'`, schema, table).Scan(&unique)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the keys of table %s.%s: %w", QuoteName(schema), QuoteName(table), err)
	}
	return unique == 0, nil
}

// IsInnoDB reports whether a table is there, and one of InnoDB.
func IsInnoDB(ctx context.Context, db *sql.DB, schema, table string) (is bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM information_schema.tables
		WHERE table_schema = ? AND table_name = ? AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND engine = 'InnoDB'`, schema, table).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look for the engine of table %s.%s: %w", QuoteName(schema), QuoteName(table), err)
	}
	return is, nil
}
