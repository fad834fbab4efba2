package dbconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// TLS is how connections to a server over a network are protected: by TLS, unless Off; with CA, the path of a file of
// certificates in PEM, the server's is checked.
type TLS struct {
	Off bool
	CA  string
}

// OpenTCP returns a handle for one connection of login to a server at HOST:PORT. No connection is made yet.
func OpenTCP(address string, login Login, t TLS) (*sql.DB, error) {
	c, err := t.config(address)
	if err != nil {
		return nil, err
	}
	db, err := open(address, login, "", ownSettings, func(m *mysql.Config) { m.Net, m.TLS = "tcp", c })
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func (t TLS) config(address string) (*tls.Config, error) {
	if t.Off {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{ServerName: host, InsecureSkipVerify: t.CA == ""} // #nosec G402 -- as the servers' own clients: encrypted, and checked where there is something to check it by
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read certificates: %s has none in PEM", t.CA)
		}
	}
	return c, nil
}

// IsNoTLS reports whether an error says that the server speaks no TLS.
func IsNoTLS(err error) bool { return errors.Is(err, mysql.ErrNoTLS) }

// SourceFacts are what a server says of itself that a replica of it has to know.
type SourceFacts struct {
	Version string
	LogBin  bool
	// LowerCase is lower_case_table_names.
	LowerCase string
	// SeenFrom is the host that the connection comes from, as accounts name it.
	SeenFrom string
	// Databases are those that are not the server's own.
	Databases []string
}

// ownDatabases are the servers' own.
var ownDatabases = []string{"information_schema", "performance_schema", "mysql", "sys", "ndbinfo"}

// AskSource asks a server for them.
func AskSource(ctx context.Context, db *sql.DB) (f SourceFacts, err error) {
	const query = "SELECT VERSION(), @@GLOBAL.log_bin, @@GLOBAL.lower_case_table_names, SUBSTRING_INDEX(USER(), '@', -1)"
	if err := db.QueryRowContext(ctx, query).Scan(&f.Version, &f.LogBin, &f.LowerCase, &f.SeenFrom); err != nil {
		return f, err
	}
	f.Databases, err = Databases(ctx, db)
	return f, err
}

// Databases are those of a server that are not its own, in order.
func Databases(ctx context.Context, db *sql.DB) (list []string, err error) {
	err = Query(ctx, db, "SHOW DATABASES", func(c []string) error {
		if !slices.Contains(ownDatabases, strings.ToLower(c[0])) {
			list = append(list, c[0])
		}
		return nil
	})
	slices.Sort(list)
	return list, err
}

// Definitions are what a server's databases have beside rows, each with when it was made or changed, in order: what a dump reads
// while it goes on, and not as of its beginning.
func Definitions(ctx context.Context, db *sql.DB) (list []string, err error) {
	for _, query := range []string{
		"SELECT 'table', TABLE_SCHEMA, TABLE_NAME, CREATE_TIME FROM information_schema.TABLES",
		"SELECT 'event', EVENT_SCHEMA, EVENT_NAME, LAST_ALTERED FROM information_schema.EVENTS",
		"SELECT ROUTINE_TYPE, ROUTINE_SCHEMA, ROUTINE_NAME, LAST_ALTERED FROM information_schema.ROUTINES",
		"SELECT 'trigger', TRIGGER_SCHEMA, TRIGGER_NAME, CREATED FROM information_schema.TRIGGERS",
	} {
		if err := Query(ctx, db, query, func(c []string) error {
			if !slices.Contains(ownDatabases, strings.ToLower(c[1])) {
				list = append(list, fmt.Sprintf("%s %s.%s, %s", strings.ToLower(c[0]), c[1], c[2], c[3]))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return list, nil
}

// LogEnd is where the log of a server ends now.
func (d Dialect) LogEnd(ctx context.Context, db *sql.DB) (at Source, err error) {
	got, err := row(ctx, db, "SHOW MASTER STATUS")
	if err != nil { // MySQL since 8.4
		got, err = row(ctx, db, "SHOW BINARY LOG STATUS")
	}
	if err != nil {
		return at, err
	}
	at.File = got["File"]
	if at.Pos, err = strconv.ParseInt(got["Position"], 10, 64); err != nil {
		return at, fmt.Errorf("ask where the binary log ends: %w", err)
	}
	at.GTIDs, err = d.GTIDsAt(ctx, db, at.File, at.Pos)
	return at, err
}

// ownAccounts are accounts that every server has, or that are Ramaria's.
var ownAccounts = []string{"", "root", "mysql", "mariadb.sys", "mysql.sys", "mysql.session", "mysql.infoschema", "debian-sys-maint", SupervisorUser, "PUBLIC"}

// AccountStatements returns what makes the accounts of a server, but for its own and those of the names left: first all
// accounts and roles, then what each may do.
func (d Dialect) AccountStatements(ctx context.Context, db *sql.DB, left ...string) (create, grant []string, err error) {
	type account struct{ user, host, role string }
	var list []account
	if _, err := db.ExecContext(ctx, "SET SESSION print_identified_with_as_hex = ON"); err != nil && !IsUnknownVariable(err) { // MySQL's
		return nil, nil, err
	}
	if err := Query(ctx, db, "SELECT User, Host, is_role FROM ("+d.Users+") u", func(c []string) error {
		ours := strings.HasPrefix(c[0], ReplicaUserPrefix) || strings.HasPrefix(c[0], RemoteUserPrefix) || strings.HasPrefix(c[0], HandOverUserPrefix)
		if !ours && !slices.Contains(ownAccounts, c[0]) && !slices.Contains(left, c[0]) {
			list = append(list, account{c[0], c[1], c[2]})
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	for _, a := range list {
		name := Quote(a.user) + "@" + Quote(a.host)
		if a.role == "Y" {
			name = Quote(a.user)
			create = append(create, "CREATE ROLE IF NOT EXISTS "+name)
		} else if err := Query(ctx, db, "SHOW CREATE USER "+name, func(c []string) error {
			create = append(create, c[0])
			return nil
		}); err != nil {
			return nil, nil, err
		}
		if err := Query(ctx, db, "SHOW GRANTS FOR "+name, func(c []string) error {
			grant = append(grant, c[0])
			return nil
		}); err != nil {
			return nil, nil, err
		}
	}
	return create, grant, nil
}
