package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
)

// learn loads the user's dump twice into a server of its own, so that it is known what it
// holds, and which tables hold something else each time: those with the time of the load.
func (p *payload) learn(ctx context.Context) (err error) {
	s := &plainServer{lab: p.lab, dir: filepath.Join(p.lab.Dir, "learn"), set: p.set()}
	defer func() { err = errors.Join(err, s.remove()) }()
	for _, step := range []func(context.Context) error{s.initialise, s.start} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	e := server.Endpoint{Socket: s.socket(), Login: s.login}
	client, err := p.lab.shellClient(e, s.clientConfig())
	if err != nil {
		return err
	}
	db, err := server.Open(e.Socket, e.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := p.findMissing(ctx, client, db); err != nil {
		return err
	}
	first, err := p.readAll(ctx, db)
	if err != nil {
		return err
	}
	select { // the time has seconds
	case <-time.After(1100 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.loadAnew(ctx, client); err != nil {
		return err
	}
	if p.want, err = p.readAll(ctx, db); err != nil {
		return err
	}
	p.moving = map[dump.TableName]bool{}
	for database, c := range p.want {
		for _, table := range c.tables() {
			if c[table] != first[database][table] {
				p.moving[dump.TableName{Database: database, Name: table}] = true
			}
		}
	}
	if len(p.moving) > 0 {
		p.want, err = p.readAll(ctx, db)
	}
	return err
}

// findMissing loads the dump, and finds out which of the databases that it names it does not
// make: those that are not there when a load fails.
func (p *payload) findMissing(ctx context.Context, client shellClient, db *sql.DB) error {
	failed := p.loadAnew(ctx, client)
	for err := failed; err != nil; err = p.loadAnew(ctx, client) {
		next := ""
		for _, name := range p.names {
			var there int
			if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name).Scan(&there); err != nil {
				return err
			}
			if there == 0 && !slices.Contains(p.missing, name) {
				next = name // they are in the order of the dump
				break
			}
		}
		if next == "" || ctx.Err() != nil {
			return failed
		}
		p.missing = append(p.missing, next)
	}
	return nil
}

// loadAnew is a whole cycle, in three calls of the client.
func (p *payload) loadAnew(ctx context.Context, c shellClient) error {
	path, err := p.file(fixture.OneRow)
	if err != nil {
		return err
	}
	return p.cycle(ctx, c, path)
}

// cycle drops the database, makes it and loads a file, each by its own call of the client, as
// in the shell script whose figures made people think of RAM.
func (p *payload) cycle(ctx context.Context, c shellClient, path string) error {
	for _, statement := range []string{p.drop(p.database), p.create(p.database)} {
		if statement == "" { // the dump makes it itself
			continue
		}
		if err := c.execute(ctx, statement); err != nil {
			return err
		}
	}
	return c.file(ctx, p.database, path)
}

func (p *payload) readAll(ctx context.Context, db *sql.DB) (map[string]contents, error) {
	all := map[string]contents{}
	for _, database := range p.databases() {
		c, err := p.read(ctx, db, database, database)
		if err != nil {
			return nil, err
		}
		all[database] = c
	}
	return all, nil
}

// read is readContents of a database that is called name here; of moving tables it has the
// number of rows instead of their checksum.
func (p *payload) read(ctx context.Context, db *sql.DB, database, name string) (contents, error) {
	c, err := readContents(ctx, db, name, nil)
	if err != nil {
		return nil, err
	}
	for _, table := range c.tables() {
		if !p.moving[dump.TableName{Database: database, Name: table}] {
			continue
		}
		var rows int64
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+server.QuoteName(name)+"."+server.QuoteName(table)).Scan(&rows); err != nil {
			return nil, err
		}
		definition := c[table][:strings.LastIndex(c[table], withChecksum)]
		c[table] = fmt.Sprintf("%s with %d rows", definition, rows)
	}
	return c, nil
}

// mustEqual returns an error if a database holds something else, or more; like is in words what
// it is to be as.
func (c contents) mustEqual(have contents, name, like string) error {
	table := c.differs(have)
	if table == "" {
		table = have.differs(c)
	}
	if table == "" {
		return nil
	}
	return fmt.Errorf("database %s is not as %s: %s is %q, not %q", name, like, table, have[table], c[table])
}

// changesIn returns three changes that a test might make in a clone of the user's data: the
// removal of three rows of a table whose rows nobody refers to, or at least of one where that
// goes well. ErrUnavailable says that there is none.
func changesIn(ctx context.Context, conn *sql.Conn, database string) ([]change, error) {
	const query = `SELECT t.table_name, GROUP_CONCAT(s.column_name ORDER BY s.seq_in_index SEPARATOR '\n')
		FROM information_schema.tables t JOIN information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name
		WHERE t.table_schema = ? AND t.table_type = 'BASE TABLE' AND t.engine = 'InnoDB' AND s.index_name = 'PRIMARY'
		GROUP BY t.table_name
		ORDER BY (SELECT COUNT(*) FROM information_schema.referential_constraints r
			WHERE r.unique_constraint_schema = ? AND r.referenced_table_name = t.table_name), t.table_name`
	rows, err := conn.QueryContext(ctx, query, database, database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var candidates []change
	for rows.Next() {
		var table, key string
		if err := rows.Scan(&table, &key); err != nil {
			return nil, err
		}
		var columns []string
		for _, name := range strings.Split(key, "\n") {
			columns = append(columns, server.QuoteName(name))
		}
		candidates = append(candidates, change{"DELETE FROM " + server.QuoteName(table) + " ORDER BY " + strings.Join(columns, ", ") + " LIMIT 3", 3})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, c := range candidates {
		if err := try(ctx, conn, c); err == nil {
			return []change{c}, nil
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, leftOutError("no table of the dump has a primary key and three rows that can be removed")
}

// try makes a change and takes it back.
func try(ctx context.Context, conn *sql.Conn, c change) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return makeChanges(ctx, tx, []change{c})
}
