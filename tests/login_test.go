package tests

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// TestLoginOverTCP logs in as clients do: with TLS and without, at once and after the
// server forgot whom it has seen, which on MySQL takes an exchange by RSA.
func TestLoginOverTCP(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	dsn, err := url.Parse(h.ramaria("up"))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := dsn.User.Password()
	open := func(tls, password string) *sql.DB {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName, c.TLSConfig = dsn.User.Username(), password, "tcp", dsn.Host, strings.TrimPrefix(dsn.Path, "/"), tls
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		t.Cleanup(func() { db.Close() })
		return db
	}
	cipher := func(tls, password string) (string, error) {
		var name, cipher string
		err := open(tls, password).QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
		return cipher, err
	}
	var cert sql.NullString
	if err := open("false", password).QueryRowContext(t.Context(), "SELECT @@ssl_cert").Scan(&cert); err != nil {
		t.Fatalf("the first, without TLS: %v", err)
	}
	ways := []string{"false"}
	if cert.String != "" {
		ways = append(ways, "skip-verify")
	}
	for _, tls := range ways {
		if _, err := open("false", password).ExecContext(t.Context(), "FLUSH PRIVILEGES"); err != nil {
			t.Fatal(err)
		}
		got, err := cipher(tls, password)
		if err != nil || (got != "") != (tls != "false") {
			t.Errorf("TLS %s after FLUSH PRIVILEGES: cipher %q, %v", tls, got, err)
		}
		if _, err := cipher(tls, "wrong"); err == nil || !strings.Contains(err.Error(), "1045") {
			t.Errorf("TLS %s with a wrong password: %v", tls, err)
		}
	}
}

// TestApplicationCannotBlindTheSupervisor tries the ways to write what is not logged.
func TestApplicationCannotBlindTheSupervisor(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	h.ramaria("up")
	statements := []string{
		"SET SESSION sql_log_bin=0", "SET GLOBAL sql_log_bin=0", "SET GLOBAL binlog_format='STATEMENT'", "SET SESSION binlog_format='STATEMENT'",
		"PURGE BINARY LOGS BEFORE NOW()", "SET GLOBAL super_read_only=1",
	}
	for _, s := range statements {
		if out, talk, err := h.try("sql", "main", "-e", s); err == nil {
			t.Errorf("%s: done: %s%s", s, out, talk)
		}
	}
	// Everything that an application needs works without those rights.
	for _, s := range []string{
		"CREATE DATABASE other", "CREATE USER 'u'@'%' IDENTIFIED BY 'Xx-1234567'", "GRANT SELECT ON other.* TO 'u'@'%'",
		"CREATE FUNCTION app.f() RETURNS INT NOT DETERMINISTIC RETURN 1", "CREATE TABLE app.t (a INT)", "CREATE TRIGGER app.g BEFORE INSERT ON app.t FOR EACH ROW SET NEW.a = 1",
		"FLUSH PRIVILEGES", "KILL QUERY CONNECTION_ID()", "SHOW ENGINE INNODB STATUS",
	} {
		if out, talk, err := h.try("sql", "main", "-e", s); err != nil && !strings.Contains(talk, "interrupted") {
			t.Errorf("%s: %v: %s%s", s, err, out, talk)
		}
	}
}
