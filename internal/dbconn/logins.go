package dbconn

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// LoginsOf is a sum of how the accounts of a user log in: another one after the password of one of them was changed.
func (d Dialect) LoginsOf(ctx context.Context, db *sql.DB, user string) (string, error) {
	h := sha256.New()
	err := Query(ctx, db, fmt.Sprintf(d.Logins, Quote(user)), func(cols []string) error {
		_, err := fmt.Fprintf(h, "%q\n", cols)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
