package home

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/client"
)

// Open makes connections of an account over the socket, each of which runs some statements first.
func Open(e client.Endpoint, user, password, database, charset string, first ...string) (*sql.DB, error) {
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
	return sql.OpenDB(beginning{connector, first}), nil
}

// beginning makes connections, and runs statements in each before anybody has it.
type beginning struct {
	driver.Connector
	statements []string
}

// Connect is that of driver.Connector.
func (b beginning) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range b.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, text, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
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
