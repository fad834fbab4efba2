package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// notOwn is a condition on a column with the name of a database: it is not the server's own.
const notOwn = " NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys', 'ndbinfo')"

// Questions after what a target may not take.
const (
	otherEngines = "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME, ' (', ENGINE, ')') FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB' AND TABLE_SCHEMA" + notOwn + " ORDER BY 1"
	noKeys       = "SELECT CONCAT(t.TABLE_SCHEMA, '.', t.TABLE_NAME) FROM information_schema.TABLES t LEFT JOIN information_schema.TABLE_CONSTRAINTS c" +
		" ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME AND c.CONSTRAINT_TYPE = 'PRIMARY KEY'" +
		" WHERE t.TABLE_TYPE = 'BASE TABLE' AND c.CONSTRAINT_NAME IS NULL AND t.TABLE_SCHEMA" + notOwn + " ORDER BY 1"
	runningEvents = "SELECT CONCAT(EVENT_SCHEMA, '.', EVENT_NAME) FROM information_schema.EVENTS WHERE STATUS = 'ENABLED' ORDER BY 1"
	// Of accounts and roles, for %s. Those of the servers' own accounts, and of Ramaria's, do not come along.
	logins = "SELECT DISTINCT plugin FROM (%s) u WHERE plugin NOT IN ('', 'mysql_native_password', 'caching_sha2_password', 'sha256_password', 'mysql_no_login') AND User NOT IN ('root', 'mysql', 'mariadb.sys')"
	// definersGone are definers without an account or role, which come for %s.
	definersGone = "SELECT DISTINCT d.DEFINER FROM (" + dbconn.Definers + ") d LEFT JOIN (%s) u ON d.DEFINER = CONCAT(u.User, '@', u.Host) WHERE u.User IS NULL"
	dataSize     = "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA" + notOwn
)

// mostNamed is how many tables a message names.
const mostNamed = 5

// some names a few of a list.
func some(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}

// look fills in what the texts say of the instance, and refuses data that the target does not take.
func (h *handingOver) look(ctx context.Context) error {
	p, srv := &h.plan, h.i.Server
	p.Instance, p.Target, p.Flavour, p.Version, p.Series = h.Name, h.target, srv.Family().Name, srv.Version.String(), srv.Version.Series()
	p.MariaDB, p.Durable = srv.Flavour == server.MariaDB, h.i.Durable != nil
	p.Client, p.Replica = srv.Family().Clients[0], srv.Dialect().Applier.Replica
	p.ServerID = 1 + rand.N[uint32](1<<30) // #nosec G404 -- no secret
	if h.target.Name == "kubernetes" {
		p.RootPassword = dbconn.NewPassword()
	}
	if _, err := os.Lstat(server.CertPath(h.i.RunDir)); err == nil {
		p.Encrypted, p.Cert = true, true
	}
	settings := "SELECT @@GLOBAL.lower_case_table_names, @@GLOBAL.character_set_server, @@GLOBAL.collation_server, @@GLOBAL.sql_mode, (" + dataSize + ")"
	if err := h.db.QueryRowContext(ctx, settings).Scan(&p.LowerCase, &p.Charset, &p.Collation, &p.SQLMode, &p.Bytes); err != nil {
		return err
	}
	return h.check(ctx)
}

// check looks for what the target may not take.
func (h *handingOver) check(ctx context.Context) error {
	var failed error
	ask := func(query string) (list []string) {
		err := dbconn.Query(ctx, h.db, query, func(c []string) error {
			list = append(list, c[0])
			return nil
		})
		if failed == nil {
			failed = err
		}
		return list
	}
	p, users := &h.plan, h.i.Server.Dialect().Users
	engines, keyless, gone, plugins := ask(otherEngines), ask(noKeys), ask(fmt.Sprintf(definersGone, users)), ask(fmt.Sprintf(logins, users))
	p.Events = ask(runningEvents)
	if failed != nil {
		return failed
	}
	needsKeys := h.target.NeedsKeys || h.target.Name == "kubernetes" && !p.MariaDB
	refuse := func(why, hint string) error {
		return RequestError{fmt.Errorf("hand over instance %s to %s: %s\nhint: %s", h.Name, h.target.Words, why, hint)}
	}
	note := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case len(engines) > 0 && h.target.Cluster:
		return refuse("its nodes exchange tables of InnoDB only, and these are others: "+some(engines), "ALTER TABLE ... ENGINE=InnoDB")
	case len(engines) > 0:
		note("Tables that know no transactions are in the base as they were a moment before or after the rest, when something wrote to them: %s.", some(engines))
	}
	switch {
	case len(keyless) > 0 && needsKeys:
		return refuse("it takes no writes to tables without a primary key: "+some(keyless), "ALTER TABLE ... ADD PRIMARY KEY (...)")
	case len(keyless) > 0:
		note("Tables without a primary key, in which a replica looks for each row in all of them: %s.", some(keyless))
	}
	if len(gone) > 0 {
		note("Views, routines, triggers or events have definers that have no account: %s.", some(gone))
	}
	if len(plugins) > 0 {
		slices.Sort(plugins)
		note("Accounts log in by plugins that the target may not have: %s.", strings.Join(plugins, ", "))
	}
	return nil
}
