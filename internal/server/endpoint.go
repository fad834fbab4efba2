package server

import (
	"net"
	"net/url"
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
// learn of their database.
func (e Endpoint) Env() []string {
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
	}
}

// ClientConfig returns the option file of a client program for this endpoint.
// Passwords go to clients by file, never by argument.
func (e Endpoint) ClientConfig() string {
	esc := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	return "[client]\nsocket = \"" + esc(e.Socket) + "\"\nuser = \"" + esc(e.User) +
		"\"\npassword = \"" + esc(e.Password) + "\"\nprotocol = socket\n"
}
