package dbconn

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
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

// GoDSN returns the data source name as go-sql-driver takes it.
func (e Endpoint) GoDSN() string {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", net.JoinHostPort(e.Host, strconv.Itoa(e.Port)), e.User, e.Password, e.Database
	return c.FormatDSN()
}

// Env returns the variables, as K=V, by which programs and libraries commonly
// learn of their database. home is the directory that holds HomeConfig as my.cnf: the client
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
	return e.Login.ClientConfig() + "socket = " + optionQuote(e.Socket) + "\n"
}

// ClientConfig returns the option file of a client program that is told by arguments where the server is.
func (l Login) ClientConfig() string {
	return "[client]\nuser = " + optionQuote(l.User) + "\npassword = " + optionQuote(l.Password) + "\n"
}

// optionQuote writes a value of an option file.
func optionQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

// HomeConfig returns the option file by which the client programs find this endpoint in a
// directory that is their MYSQL_HOME.
//
// It says host = localhost, which beats MYSQL_HOST, and not protocol = socket: so -S, and -h
// with another host, lead where they say and not here. The database is in the group of
// the client alone, since dump and admin programs know no such option.
func (e Endpoint) HomeConfig() string {
	return e.clientGroup() + "host = localhost\n\n[mysql]\ndatabase = " + optionQuote(e.Database) + "\ndefault-character-set = utf8mb4\n"
}
