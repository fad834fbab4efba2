//go:build plain

package shop

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// The same tests without Ramaria, to compare with: go test -tags plain. All have one database, that of the variables
// MYSQL_. ISOLATION says how it is put back before each of them: truncate, reload, or none, with which they fail.

var (
	plain *sql.DB
	dump  []string
)

func TestMain(m *testing.M) {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", os.Getenv("MYSQL_HOST")+":"+os.Getenv("MYSQL_TCP_PORT")
	config.User, config.Passwd, config.DBName = os.Getenv("MYSQL_USER"), os.Getenv("MYSQL_PWD"), os.Getenv("MYSQL_DATABASE")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		panic(err)
	}
	plain = sql.OpenDB(connector)
	plain.SetMaxOpenConns(1)
	text, err := os.ReadFile("../shop.sql")
	if err != nil {
		panic(err)
	}
	dump = strings.Split(strings.TrimRight(string(text), ";\n"), ";\n")
	if err := reload(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func database(t *testing.T) *sql.DB {
	t.Helper()
	back, known := map[string]func() error{"truncate": truncate, "reload": reload, "none": func() error { return nil }}[os.Getenv("ISOLATION")]
	if !known {
		t.Fatal("ISOLATION is truncate, reload or none")
	}
	if err := back(); err != nil {
		t.Fatal(err)
	}
	look(t, plain)
	return plain
}

func truncate() error {
	var tables sql.NullString
	query := "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"
	if err := plain.QueryRow(query).Scan(&tables); err != nil {
		return err
	}
	var statements []string
	for _, table := range strings.Split(tables.String, ",") {
		statements = append(statements, "TRUNCATE TABLE "+table)
	}
	for _, statement := range dump {
		if strings.HasPrefix(statement, "INSERT") {
			statements = append(statements, statement)
		}
	}
	return run(statements)
}

func reload() error {
	name := os.Getenv("MYSQL_DATABASE")
	return run(append([]string{"DROP DATABASE " + name, "CREATE DATABASE " + name, "USE " + name}, dump...))
}

func run(statements []string) error {
	for _, statement := range statements {
		if _, err := plain.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
