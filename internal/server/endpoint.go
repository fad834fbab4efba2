package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Endpoint is how an application reaches a running server.
type Endpoint struct {
	Host   string `json:"host"`
	Port   int    `json:"port"`
	Socket string `json:"socket"`
	Login
	Database string `json:"database"`
}

// URL returns the data source name, mysql://USER:PASSWORD@HOST:PORT/DATABASE.
func (e Endpoint) URL() string {
	u := url.URL{
		Scheme: "mysql",
		User:   url.UserPassword(e.User, e.Password),
		Host:   net.JoinHostPort(e.Host, strconv.Itoa(e.Port)),
		Path:   "/" + e.Database, RawPath: "/" + url.PathEscape(e.Database),
	}
	return u.String()
}

// Env returns the variables, as K=V, by which programs and libraries commonly
// learn of their database. home is the directory that WriteClientHome wrote: the client
// programs know no variable for the account, and one of MySQL and one of MariaDB for that.
func (e Endpoint) Env(home string) []string {
	port := strconv.Itoa(e.Port)
	return []string{
		"DATABASE_URL=" + e.URL(),
		"MYSQL_HOST=" + e.Host,
		"MYSQL_TCP_PORT=" + port,
		"MYSQL_PORT=" + port,
		"MYSQL_UNIX_PORT=" + e.Socket,
		"MYSQL_USER=" + e.User,
		"MYSQL_PWD=" + e.Password,
		"MYSQL_PASSWORD=" + e.Password,
		"MYSQL_DATABASE=" + e.Database,
		"MYSQL_HOME=" + home,
		"MARIADB_HOME=" + home,
	}
}

// ClientConfig returns the option file of a client program for this endpoint.
// Passwords go to clients by file, never by argument.
func (e Endpoint) ClientConfig() string { return e.clientGroup() + "protocol = socket\n" }

func (e Endpoint) clientGroup() string {
	return "[client]\nsocket = " + optionQuote(e.Socket) + "\nuser = " + optionQuote(e.User) + "\npassword = " + optionQuote(e.Password) + "\n"
}

// optionQuote writes a value of an option file.
func optionQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

// WriteClientHome makes dir a directory in which the client programs find this endpoint, as
// their MYSQL_HOME; only the caller can read it.
//
// It says host = localhost, which beats MYSQL_HOST, and not protocol = socket: so -S, and -h
// with another host, lead where they say and not here. The database is in the group of
// the client alone, since dump and admin programs know no such option.
func (e Endpoint) WriteClientHome(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for clients: %w", err)
	}
	text := e.clientGroup() + "host = localhost\n\n[mysql]\ndatabase = " + optionQuote(e.Database) + "\ndefault-character-set = utf8mb4\n"
	return WritePrivate(filepath.Join(dir, "my.cnf"), []byte(text), Account{})
}
