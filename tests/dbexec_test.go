package tests

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// dbExec is a program for scripts, such as an application has: it runs statements
// on the database that DATABASE_URL names, and prints the first column of their rows.
//
//	dbexec 'CREATE TABLE t (a INT)' 'SELECT a FROM t'
func dbExec() {
	db, err := openURL(os.Getenv("DATABASE_URL"))
	if err != nil {
		fail("dbexec: %v", err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // one session
	for _, statement := range os.Args[1:] {
		if err := execute(db, statement); err != nil {
			fail("dbexec: %v", err)
		}
	}
}

func execute(db *sql.DB, statement string) error {
	rows, err := db.Query(statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
		fmt.Printf("%s\n", *values[0].(*sql.RawBytes))
	}
	return rows.Err()
}

// openURL opens mysql://USER:PASSWORD@HOST:PORT/DATABASE.
func openURL(dsn string) (*sql.DB, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	c.Logger = quiet{}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(conn), nil
}

// quiet is a logger for connections whose server is about to be killed.
type quiet struct{}

func (quiet) Print(...any) {}
