package lab

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// ExecAll runs statements one after the other.
func ExecAll(ctx context.Context, conn Executor, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// CountUp makes a database with a table of the numbers from 1 to n, from which a server makes
// any other rows faster than a client can send them.
func CountUp(ctx context.Context, conn Executor, database string, n int) error {
	name := dbconn.QuoteName(database)
	err := ExecAll(ctx, conn, "CREATE DATABASE "+name, "CREATE TABLE "+name+".numbers (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO "+name+".numbers VALUES (1)")
	for have := 1; have < n && err == nil; have *= 2 {
		err = ExecAll(ctx, conn, fmt.Sprintf("INSERT INTO %[1]s.numbers SELECT id + %[2]d FROM %[1]s.numbers WHERE id + %[2]d <= %[3]d", name, have, n))
	}
	return err
}

// Connected runs work over a connection to a database that is open no longer than that.
func Connected(ctx context.Context, e dbconn.Endpoint, work func(conn *sql.Conn) error) error {
	db, err := dbconn.Open(e.Socket, e.Login, e.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return work(conn)
}
