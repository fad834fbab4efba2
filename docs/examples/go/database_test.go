//go:build !plain

package shop

import (
	"database/sql"
	"testing"

	"github.com/ramaria-db/ramaria/ramariatest"
)

// database is one that only this test has, as shop.sql makes it.
func database(t *testing.T) *sql.DB {
	t.Parallel()
	db := ramariatest.New(t, ramariatest.Template("shop", ramariatest.FromDump("../shop.sql")))
	look(t, db)
	return db
}
