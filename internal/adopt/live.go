package adopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Live is what a running server says of itself.
type Live struct {
	Flavour         server.Flavour
	Version         string
	DataDir, Socket string
	Port            int
	Bind            string
	// NoNetwork says that it takes no TCP connections.
	NoNetwork       bool
	PageSize        int
	BinLog, GTIDLog string // the base of the binary log's files; "" if it has none
	Galera, Replica bool
	// XPort is the port of MySQL's X protocol, "" if it is not spoken.
	XPort    string
	Replicas int
	// Prepared is how many XA transactions wait for their verdict.
	Prepared  int
	Databases []Database
	Users     map[string]bool
	// Persisted are the settings of SET PERSIST, which come behind all other options.
	Persisted []Option
}

// Disconnect ends all connections of a server that is about to be shut down, and db's. MySQL waits for two seconds at its
// shutdown if there is any.
// https://dev.mysql.com/doc/refman/en/server-system-variables.html#sysvar_offline_mode
func Disconnect(ctx context.Context, db *sql.DB, flavour server.Flavour) error {
	if flavour == server.MySQL {
		if _, err := db.ExecContext(ctx, "SET GLOBAL offline_mode = ON"); err != nil {
			return fmt.Errorf("disconnect clients: %w", err)
		}
		var others []string
		if err := dbconn.Query(ctx, db, "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND NOT IN ('Daemon')", func(c []string) error {
			others = append(others, c[0])
			return nil
		}); err != nil {
			return fmt.Errorf("disconnect clients: %w", err)
		}
		for _, id := range others { // of administrators
			_, _ = db.ExecContext(ctx, "KILL "+id) // it may be gone
		}
	}
	return db.Close()
}

// Readmit lets the clients of a server in again that Disconnect has kept out, where it was not shut down then.
func Readmit(ctx context.Context, db *sql.DB, flavour server.Flavour) error {
	if flavour != server.MySQL {
		return nil
	}
	if _, err := db.ExecContext(ctx, "SET GLOBAL offline_mode = OFF"); err != nil {
		return fmt.Errorf("let clients in again: %w", err)
	}
	return nil
}

// Database is one of the users', with the bytes that its tables and indexes take.
type Database struct {
	Name  string
	Bytes int64
}

// Ask asks a running server.
func Ask(ctx context.Context, db *sql.DB) (*Live, error) {
	l := &Live{Users: map[string]bool{}}
	for _, step := range []func(context.Context, *sql.DB) error{l.place, l.persisted, l.replication, l.content} {
		if err := step(ctx, db); err != nil {
			return nil, fmt.Errorf("ask the server of the service: %w", err)
		}
	}
	return l, nil
}

func (l *Live) place(ctx context.Context, db *sql.DB) error {
	var comment string
	row := db.QueryRowContext(ctx, "SELECT @@version, @@version_comment, @@datadir, @@socket, @@port, @@innodb_page_size")
	if err := row.Scan(&l.Version, &comment, &l.DataDir, &l.Socket, &l.Port, &l.PageSize); err != nil {
		return err
	}
	var err error
	if l.Bind, err = variable(ctx, db, "bind_address"); err != nil {
		return err
	}
	if l.XPort, err = variable(ctx, db, "mysqlx_port"); err != nil {
		return err
	}
	off, err := variable(ctx, db, "skip_networking")
	if err != nil {
		return err
	}
	l.NoNetwork = off == "ON"
	l.Flavour = server.MySQL
	if strings.Contains(l.Version+comment, "MariaDB") {
		l.Flavour = server.MariaDB
	}
	return nil
}

func (l *Live) persisted(ctx context.Context, db *sql.DB) error {
	if load, err := variable(ctx, db, "persisted_globals_load"); err != nil || load != "ON" {
		return err
	}
	return l.readPersisted(ctx, db)
}

// https://dev.mysql.com/doc/refman/en/performance-schema-persisted-variables-table.html
func (l *Live) readPersisted(ctx context.Context, db *sql.DB) error {
	return dbconn.Query(ctx, db, "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.persisted_variables", func(c []string) error {
		l.Persisted = append(l.Persisted, Option{Name: c[0], Value: c[1]})
		return nil
	})
}

// GTIDState is the state of a MariaDB server's binary log, of the base that a Live has, after it was shut down; "" if it
// had none.
func (l *Live) GTIDState() (string, error) {
	if l.BinLog == "" || l.Flavour != server.MariaDB {
		return "", nil
	}
	text, err := os.ReadFile(l.BinLog + ".state")
	if errors.Is(err, fs.ErrNotExist) {
		return l.GTIDLog, nil
	}
	return strings.Join(strings.Fields(string(text)), ","), err
}

// variable is the value of a global variable, "" if there is none of that name.
func variable(ctx context.Context, db *sql.DB, name string) (value string, err error) {
	err = dbconn.Query(ctx, db, "SHOW GLOBAL VARIABLES LIKE "+dbconn.Quote(name), func(c []string) error {
		value = c[1]
		return nil
	})
	return value, err
}

func (l *Live) replication(ctx context.Context, db *sql.DB) error {
	on, err := variable(ctx, db, "wsrep_on")
	if err != nil {
		return err
	}
	provider, err := variable(ctx, db, "wsrep_provider")
	if err != nil {
		return err
	}
	l.Galera = on == "ON" && provider != "" && provider != "none"
	if l.BinLog, err = variable(ctx, db, "log_bin_basename"); err != nil {
		return err
	}
	if l.GTIDLog, err = variable(ctx, db, "gtid_binlog_state"); err != nil {
		return err
	}
	status := "SHOW REPLICA STATUS"
	if l.Flavour == server.MariaDB {
		status = "SHOW ALL SLAVES STATUS"
	}
	if err := dbconn.Query(ctx, db, status, func([]string) error { l.Replica = true; return nil }); err != nil {
		if err := dbconn.Query(ctx, db, "SHOW SLAVE STATUS", func([]string) error { l.Replica = true; return nil }); err != nil {
			return err
		}
	}
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'").Scan(&l.Replicas)
}

func (l *Live) content(ctx context.Context, db *sql.DB) error {
	err := dbconn.Query(ctx, db, `SELECT s.schema_name, COALESCE(SUM(t.data_length + t.index_length), 0) FROM information_schema.schemata s
		LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name AND t.table_type = 'BASE TABLE'
		WHERE s.schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') GROUP BY s.schema_name ORDER BY 2 DESC, 1`, func(c []string) error {
		d := Database{Name: c[0]}
		_, err := fmt.Sscan(c[1], &d.Bytes)
		l.Databases = append(l.Databases, d)
		return err
	})
	if err != nil {
		return err
	}
	if err := dbconn.Query(ctx, db, "XA RECOVER", func([]string) error { l.Prepared++; return nil }); err != nil {
		return err
	}
	return dbconn.Query(ctx, db, "SELECT User FROM ("+server.FamilyOf(l.Flavour).Users()+") u", func(c []string) error { l.Users[c[0]] = true; return nil })
}
