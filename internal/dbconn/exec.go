package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// ExecAll runs statements, one after the other, up to the first that fails. The error has no password.
func ExecAll(ctx context.Context, on interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string,
) error {
	for _, text := range statements {
		if _, err := on.ExecContext(ctx, text); err != nil {
			verb, _, _ := strings.Cut(text, " TO ")
			verb, _, _ = strings.Cut(verb, " IDENTIFIED ")
			verb, _, _ = strings.Cut(verb, " USER=")
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	return nil
}

// ExecUnlogged runs statements that concern the server alone: no replica has them, and they wait for none.
func ExecUnlogged(ctx context.Context, db *sql.DB, statements ...string) (err error) {
	if len(statements) == 0 {
		return nil
	}
	conn, err := db.Conn(ctx) // another would log them
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = ExecAll(ctx, conn, append([]string{"SET SESSION sql_log_bin = 0"}, statements...)...)
	return errors.Join(err, ExecAll(context.WithoutCancel(ctx), conn, "SET SESSION sql_log_bin = 1"))
}
