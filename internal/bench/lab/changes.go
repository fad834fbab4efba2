package lab

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Change is a statement and the number of rows that it changes.
type Change struct {
	Statement string
	Rows      int64
}

// Executor is a *sql.Conn or a *sql.DB.
type Executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var _ Executor = (*sql.Conn)(nil)

// MakeChanges runs statements. One that changes other rows than it should is an error.
func MakeChanges(ctx context.Context, conn Executor, changes []Change) error {
	for _, c := range changes {
		r, err := conn.ExecContext(ctx, c.Statement)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Statement, err)
		}
		n, err := r.RowsAffected()
		if err != nil {
			return err
		}
		if n != c.Rows {
			return fmt.Errorf("%s: it changed %d rows, not %d", c.Statement, n, c.Rows)
		}
	}
	return nil
}

// ChangesIn returns three changes that a test might make in a clone of the user's data: the
// removal of three rows of a table whose rows no other refers to, or at least of one where that
// goes well. ErrUnavailable says that no table allows it.
func ChangesIn(ctx context.Context, conn *sql.Conn, database string) ([]Change, error) {
	const query = `SELECT t.table_name, GROUP_CONCAT(s.column_name ORDER BY s.seq_in_index SEPARATOR '\n')
		FROM information_schema.tables t JOIN information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name
		WHERE t.table_schema = ? AND t.table_type = 'BASE TABLE' AND t.engine = 'InnoDB' AND s.index_name = 'PRIMARY'
		GROUP BY t.table_name
		ORDER BY (SELECT COUNT(*) FROM information_schema.referential_constraints r
			WHERE r.unique_constraint_schema = ? AND r.referenced_table_name = t.table_name), t.table_name`
	rows, err := conn.QueryContext(ctx, query, database, database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var candidates []Change
	for rows.Next() {
		var table, key string
		if err := rows.Scan(&table, &key); err != nil {
			return nil, err
		}
		var columns []string
		for _, name := range strings.Split(key, "\n") {
			columns = append(columns, dbconn.QuoteName(name))
		}
		candidates = append(candidates, Change{"DELETE FROM " + dbconn.QuoteName(table) + " ORDER BY " + strings.Join(columns, ", ") + " LIMIT 3", 3})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, c := range candidates {
		if err := try(ctx, conn, c); err == nil {
			return []Change{c}, nil
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, NotApplicableError("no table of the dump has a primary key and three rows that can be removed")
}

// try makes a change and takes it back.
func try(ctx context.Context, conn *sql.Conn, c Change) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return MakeChanges(ctx, tx, []Change{c})
}
