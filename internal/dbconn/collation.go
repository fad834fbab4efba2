package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// RowQuerier is a database, or one connection to it.
type RowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// CollationOf is the character set and the name of a collation, of which the log has the number. Where a collation is for
// several character sets, another table has both.
func CollationOf(ctx context.Context, on RowQuerier, id uint16) (charset, name string, err error) {
	for _, query := range []string{
		"SELECT character_set_name, collation_name FROM information_schema.collations WHERE id = ?",
		"SELECT character_set_name, full_collation_name FROM information_schema.collation_character_set_applicability WHERE id = ?",
	} {
		if err = on.QueryRowContext(ctx, query, id).Scan(&charset, &name); !errors.Is(err, sql.ErrNoRows) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("look for collation %d: %w", id, err)
	}
	return charset, name, err
}
