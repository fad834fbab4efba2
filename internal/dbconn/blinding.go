package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Blinding returns the names of the users and roles that have one of the withheld privileges, by
// which they may switch the binary log off, or may have one by a role.
func (d Dialect) Blinding(ctx context.Context, conn *sql.Conn) (map[string]bool, error) {
	found := map[string]bool{}
	add := func(name func(text string) string) func(rows *sql.Rows) error {
		return func(rows *sql.Rows) error {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			found[name(text)] = true
			return nil
		}
	}
	var withheld []string
	for _, p := range d.Withheld {
		withheld = append(withheld, Quote(p))
	}
	err := Ask(ctx, conn,
		Question{
			Text: "SELECT DISTINCT grantee FROM information_schema.user_privileges WHERE privilege_type IN (" + strings.Join(withheld, ", ") + ")",
			Row:  add(grantee),
		},
		Question{Text: d.Roles, Row: add(func(user string) string { return user })})
	if err != nil {
		return nil, fmt.Errorf("list who may switch the binary log off: %w", err)
	}
	return found, nil
}

// grantee is the user of 'user'@'host', as information_schema writes accounts: quotes within stay
// as they are.
func grantee(account string) string {
	if at := strings.LastIndex(account, "'@'"); at > 0 {
		return account[1:at]
	}
	return strings.Trim(account, "'`") // a role
}
