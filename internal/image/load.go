package image

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/server"
)

// load runs what must be loaded through a server on the data directory, which it
// shuts down cleanly afterwards.
func (b *build) load(ctx context.Context) (err error) {
	loads := b.toLoad()
	if len(loads) == 0 && b.copied == nil && !b.older {
		return nil
	}
	return b.serve(ctx, loads, func(_ *server.Process, open dbconn.Passwordless) error { return b.finish(ctx, open) })
}

// toLoad are the inputs that a server loads.
func (b *build) toLoad() (loads []input) {
	for _, s := range b.inputs {
		if s.kind == kindDump || s.kind == kindExec {
			loads = append(loads, s)
		}
	}
	return loads
}

// serve has a server load what there is to load, and calls use with it. It shuts the server down cleanly afterwards,
// but that of a trial, whose data goes with it.
func (b *build) serve(ctx context.Context, loads []input, use func(p *server.Process, open dbconn.Passwordless) error) (err error) {
	p, err := b.startServer(ctx, loads)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil || b.trial != nil {
			p.Kill()
			return
		}
		if err = p.Stop(ctx); err != nil {
			err = fmt.Errorf("shut down after loading: %s\n%s", server.Cause(err), server.LogTail(b.logPath()))
		}
	}()
	if b.older {
		if err := b.upgrade(ctx); err != nil {
			return err
		}
	}
	db, err := dbconn.Open(server.SocketPath(b.run), b.login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // who logs in after a dump of all databases may have no rights any more
	open, err := b.Server.Dialect().Passwordless(ctx, db)
	if err != nil {
		return err
	}
	for _, s := range loads {
		if s.kind == kindExec {
			err = b.exec(ctx, s)
		} else {
			err = b.loadDump(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	if p, err = b.ownAccount(ctx, db, p, loads); err != nil {
		return err
	}
	return use(p, open)
}

// ownAccount has the build's account be there: a dump may have replaced all accounts. The server makes it
// again when it starts, and gives it all rights.
func (b *build) ownAccount(ctx context.Context, db *sql.DB, p *server.Process, loads []input) (*server.Process, error) {
	if there, err := b.Server.Dialect().Has(ctx, db, b.login.User); err != nil || there && !b.accounts {
		return p, err
	}
	if err := p.Stop(ctx); err != nil {
		return p, fmt.Errorf("restart after accounts were loaded: %s\n%s", server.Cause(err), server.LogTail(b.logPath()))
	}
	again, err := b.startServer(ctx, loads)
	if err != nil {
		return p, err
	}
	return again, nil
}

// upgrade upgrades what a server of an older series wrote.
func (b *build) upgrade(ctx context.Context) error {
	b.say("upgrading to %s %s\n", b.Server.Flavour, b.Server.Version)
	err := b.Server.Upgrade(ctx, b.dir, filepath.Join(b.dir, "tmp"), b.endpoint(b.login, ""), b.Account)
	if errors.Is(err, server.ErrNoUpgrader) {
		b.say("note: the system tables stay those of the older server: %v\n", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("upgrade the copy: %w\nhint: use the server that wrote it, or a dump", err)
	}
	return nil
}

// endpoint is how the builder (or a command, as the application) reaches the
// server of the build.
func (b *build) endpoint(login dbconn.Login, database string) dbconn.Endpoint {
	return dbconn.Endpoint{Host: "127.0.0.1", Port: b.port, Socket: server.SocketPath(b.run), Login: login, Database: database}
}

// startServer starts the build's server, with TCP only if a command needs it.
func (b *build) startServer(ctx context.Context, loads []input) (*server.Process, error) {
	for _, s := range loads {
		if s.kind == kindExec && b.port == 0 {
			var err error
			if b.port, err = server.FreePort(ctx, server.Loopback); err != nil {
				return nil, err
			}
		}
	}
	if b.image.Database == "" {
		b.image.Database = b.Database
	}
	sql := b.Server.Dialect().InitSQL(b.login, b.app, "", false)
	if err := server.WritePrivate(filepath.Join(b.run, "init.sql"), []byte(sql), b.Account); err != nil {
		return nil, err
	}
	if err := b.Server.WriteKeys(b.Places.Keys(), b.run, b.Account); err != nil {
		return nil, err
	}
	c := b.start(server.Build, b.port)
	config, err := b.config(c)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(b.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open server log: %w", err)
	}
	defer log.Close()
	p, err := b.Server.Start(config, c, b.Account, b.dir, log, server.Unsynced)
	if err != nil {
		return nil, err
	}
	db, err := dbconn.Open(server.SocketPath(b.run), b.login, "")
	if err == nil {
		err = p.Ready(ctx, db, server.SocketPath(b.run), b.logPath())
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// finish leaves the server as an image wants it: with statistics of what was
// loaded, and without the accounts of the build, and of an instance that it was copied
// from, since images hold no secrets. Accounts without a password are locked, but for those
// that were open before: other users of the machine reach the port.
func (b *build) finish(ctx context.Context, open dbconn.Passwordless) error {
	db, err := dbconn.Open(server.SocketPath(b.run), b.login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	locked, err := b.Server.Dialect().LockNew(ctx, db, open)
	if err != nil {
		return err
	}
	if len(locked) > 0 {
		b.say("%s\n", locked.LockedNote())
	}
	if err := b.partReplica(ctx, db); err != nil {
		return err
	}
	supervisors, apps := []dbconn.Login{b.login}, []dbconn.Login{b.app}
	if c := b.copied; c != nil {
		supervisors, apps = append(supervisors, c.Supervisor), append(apps, c.App)
		apps = slices.AppendSeq(apps, maps.Values(c.Kept))
		for name, login := range c.Leases {
			apps = append(apps, login)
			if _, err := db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+dbconn.QuoteName(name)); err != nil {
				return fmt.Errorf("remove a clone of a template: %w", err)
			}
		}
		if err := b.wake(ctx); err != nil {
			return err
		}
		if b.Last != nil {
			keep, err := b.Last(ctx, db)
			if err != nil {
				return err
			}
			apps = slices.DeleteFunc(apps, func(l dbconn.Login) bool { return slices.Contains(keep, l.User) })
		}
	}
	kept, err := dbconn.LockDefiners(ctx, db, apps)
	if err != nil {
		return err
	}
	apps = slices.DeleteFunc(apps, func(l dbconn.Login) bool { return slices.Contains(kept, l.User) })
	if _, err := db.ExecContext(ctx, b.Server.Dialect().ForgetSQL(supervisors, apps)); err != nil {
		return fmt.Errorf("remove the accounts of the build: %w", err)
	}
	return analyze(ctx, db)
}

// partReplica has the image follow nobody, and removes the accounts of replicas of what it was copied from.
func (b *build) partReplica(ctx context.Context, db *sql.DB) error {
	if b.copied == nil {
		return nil
	}
	d := b.Server.Dialect()
	if err := d.UnfollowOurs(ctx, db); err != nil {
		return err
	}
	users, err := d.ReplicaAccounts(ctx, db)
	for _, user := range users {
		if _, err := db.ExecContext(ctx, d.EndReplicaAccountSQL(user, server.Loopback)); err != nil {
			return fmt.Errorf("remove the account of a replica: %w", err)
		}
	}
	return err
}

// wake enables the events that were disabled in the instance that was copied since their database was
// a template.
func (b *build) wake(ctx context.Context) error {
	if b.copied.Wake == nil {
		return nil
	}
	db, err := b.Server.Dialect().OpenUnlogged(server.SocketPath(b.run), b.login)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err == nil {
		err = errors.Join(b.copied.Wake(ctx, conn), conn.Close())
	}
	if err != nil {
		return fmt.Errorf("enable events of templates: %w", err)
	}
	return nil
}

// analyze computes InnoDB's statistics. A server left running would do so within
// ten seconds; an image that is shut down before would have every instance plan
// its queries for empty tables.
func analyze(ctx context.Context, db *sql.DB) error {
	var tables []string
	err := dbconn.Query(ctx, db, `SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
		WHERE ENGINE = 'InnoDB' AND TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('mysql', 'sys')`, func(c []string) error {
		tables = append(tables, dbconn.QuoteName(c[0])+"."+dbconn.QuoteName(c[1]))
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := dbconn.Query(ctx, db, "ANALYZE LOCAL TABLE "+t, func([]string) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// loadDump loads one dump.
func (b *build) loadDump(ctx context.Context, s input) error {
	head, err := s.head()
	if err != nil {
		return err
	}
	database := ""
	if head.NeedsDatabase {
		if database, err = b.databaseFor(s, head); err != nil {
			return err
		}
		if err := b.createDatabase(ctx, database); err != nil {
			return err
		}
	}
	bar := b.dumpBar(s)
	defer bar.Close()
	sum, err := s.load(ctx, b.target(database), bar, b.keepEnd)
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		if errors.Is(err, load.ErrServerGone) {
			fault.Msg += "\n" + server.LogTail(b.logPath())
		}
		fault.Hint = "correct the dump, or choose the server it was made for with --server; no image was kept"
	}
	if err != nil {
		return err
	}
	database = cmp.Or(applications(sum), database)
	b.accounts = b.accounts || slices.ContainsFunc(sum.Databases, dbconn.SystemSchema)
	if b.image.Database == "" {
		b.image.Database = database
	}
	b.loaded = append(b.loaded, loaded{stem: stem(s.path), database: database})
	return nil
}

// applications returns the database of a dump that applications get: the one that it ends in, or, where
// that is the server's own, the last that is not; "" if it names none.
func applications(sum dump.Summary) string {
	if !dbconn.SystemSchema(sum.Current) {
		return sum.Current
	}
	for _, name := range slices.Backward(sum.Databases) {
		if !dbconn.SystemSchema(name) {
			return name
		}
	}
	return ""
}

// loaded is a dump that was loaded, and the database that it ended in.
type loaded struct{ stem, database string }

// databaseFor chooses the database for a dump without USE: --database; for rows
// without their tables, the one of the dump that made them (shop-data.sql belongs
// to shop-schema.sql or shop.sql, else to what was loaded last); else one named
// after the file. Only --database can choose a system database.
func (b *build) databaseFor(s input, head dump.Head) (string, error) {
	if b.Database != "" {
		return b.Database, nil
	}
	name := dumpfile.DatabaseName(s.path)
	if head.Data {
		if made := b.madeFor(s); made != "" {
			name = made
		}
	}
	if why := dbconn.UnfitName(name); why != "" {
		return "", fmt.Errorf("load %s: it does not say which database it belongs to, and %q, from its name, %s\nhint: --database NAME", s.name, name, why)
	}
	return name, nil
}

// madeFor returns the database of the dump that made the tables for rows, or "".
func (b *build) madeFor(s input) string {
	for _, l := range b.loaded {
		if l.stem == stem(s.path) && l.database != "" {
			return l.database
		}
	}
	if len(b.loaded) == 0 {
		return ""
	}
	return b.loaded[len(b.loaded)-1].database
}

// stem is what the names of a schema's dump and its rows' dump have in common.
func stem(path string) string {
	name := dumpfile.DatabaseName(path)
	for _, suffix := range []string{"schema", "structure", "data", "rows"} {
		if s, ok := strings.CutSuffix(name, suffix); ok {
			if t := strings.TrimRight(s, "-_."); t != "" && t != s {
				return t
			}
		}
	}
	return name
}

// target is the server of the build.
func (b *build) target(database string) load.Target {
	return load.Target{
		Server: b.Server, Endpoint: b.endpoint(b.login, database), AllowEmpty: b.AllowEmpty,
		Fit: b.Fit, Owner: dbconn.QuoteName(b.User) + "@" + dbconn.QuoteName("localhost"),
		Say: func(format string, args ...any) { b.say(format+"\n", args...) },
	}
}

func (b *build) createDatabase(ctx context.Context, name string) error {
	if _, err := b.target(name).CreateDatabase(ctx); err != nil {
		return fmt.Errorf("%w\nhint: choose another with --database", err)
	}
	return nil
}
