package adopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// debianLogin is the option file by which the packages of Debian speak to the server as its administrator.
const debianLogin = "/etc/mysql/debian.cnf"

// Open opens a connection to a server over its socket as its administrator: by an option file of the client programs,
// or for "" as root who needs no password, or as the packages do.
func Open(ctx context.Context, socket, file string) (*sql.DB, error) {
	var logins []dbconn.Login
	if file != "" {
		l, err := ReadLogin(file)
		if err != nil {
			return nil, err
		}
		logins = append(logins, l)
	} else {
		logins = append(logins, dbconn.Login{User: "root"})
		if l, err := ReadLogin(debianLogin); err == nil {
			logins = append(logins, l)
		}
	}
	var failed error
	for _, l := range logins {
		db, err := dbconn.Open(socket, l, "")
		if err != nil {
			return nil, err
		}
		if failed = db.PingContext(ctx); failed == nil {
			db.SetMaxOpenConns(1)
			return db, nil
		}
		_ = db.Close()
	}
	return nil, fmt.Errorf("speak to the server at %s: %w\nhint: --login FILE, an option file with [client], user and password of its administrator", socket, failed)
}

// ReadLogin reads user and password of [client] in an option file.
// https://mariadb.com/kb/en/configuring-mariadb-with-option-files/
func ReadLogin(path string) (l dbconn.Login, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("read login: %w", err)
	}
	client := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			client = line == "[client]"
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if !client || strings.HasPrefix(line, "#") {
			continue
		}
		value = optionValue(value)
		switch strings.TrimSpace(name) {
		case "user":
			l.User = value
		case "password":
			l.Password = value
		}
	}
	if l.User == "" {
		err = errors.Join(err, fmt.Errorf("read login %s: it has no user in [client]", path))
	}
	return l, err
}

// escapes are the sequences that stand for another character in an option file. A backslash before any other
// character stands for itself.
var escapes = strings.NewReplacer(`\b`, "\b", `\t`, "\t", `\n`, "\n", `\r`, "\r", `\s`, " ", `\\`, `\`, `\"`, `"`, `\'`, `'`)

// optionValue is the value of an option as the client programs read it from an option file: without a comment at its
// end and without quotes.
func optionValue(text string) string {
	quote, end := byte(0), len(text)
	for i := 0; i < end; i++ {
		switch c := text[i]; {
		case c == '\\' && quote != 0:
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '#':
			end = i
		}
	}
	value := strings.TrimSpace(text[:end])
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[0] == value[n-1] {
		value = value[1 : n-1]
	}
	return escapes.Replace(value)
}
