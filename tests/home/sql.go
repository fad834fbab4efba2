package home

import (
	"context"
	"database/sql"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/client"
)

// Open makes connections of an account over the socket.
func Open(e client.Endpoint, user, password, database, charset string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "unix", e.Socket, database
	c.Logger = &mysql.NopLogger{}
	c.AllowNativePasswords = true
	if err := c.Apply(mysql.Charset(charset, "")); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Exec runs a statement, and reads all that it returns.
func Exec(ctx context.Context, conn *sql.Conn, text string) error {
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			continue
		}
	}
	return rows.Err()
}
