package scenario

import (
	"context"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/server"
)

// execAll runs statements one after the other.
func execAll(ctx context.Context, conn executor, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// countUp makes a database with a table of the numbers from 1 to n, from which a server makes
// any other rows faster than a client can send them.
func countUp(ctx context.Context, conn executor, database string, n int) error {
	name := server.QuoteName(database)
	err := execAll(ctx, conn, "CREATE DATABASE "+name, "CREATE TABLE "+name+".numbers (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO "+name+".numbers VALUES (1)")
	for have := 1; have < n && err == nil; have *= 2 {
		err = execAll(ctx, conn, fmt.Sprintf("INSERT INTO %[1]s.numbers SELECT id + %[2]d FROM %[1]s.numbers WHERE id + %[2]d <= %[3]d", name, have, n))
	}
	return err
}
